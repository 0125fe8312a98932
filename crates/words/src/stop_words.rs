//! The commonest words of each language: they are left out of searches, and languages are told apart by them.

use crate::language::Language;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The languages that have a word in their list, as bits.
pub type Languages = u32;

#[derive(Clone, Copy)]
pub struct StopWord {
    /// Its number among all of them.
    pub number: usize,
    pub languages: Languages,
}

/// Finds a word, in lower case, in the lists of all languages.
pub fn stop_word(word: &str) -> Option<StopWord> {
    static TABLE: LazyLock<HashMap<&str, StopWord>> = LazyLock::new(|| {
        let mut table = HashMap::new();
        for (language, words) in LISTS {
            for word in words.split_whitespace() {
                let number = table.len();
                let entry = table.entry(word).or_insert(StopWord { number, languages: 0 });
                entry.languages |= language.bit();
            }
        }
        table
    });
    TABLE.get(word).copied()
}

pub fn is_stop_word(word: &str, language: Language) -> bool {
    stop_word(word).is_some_and(|found| found.languages & language.bit() != 0)
}

/// Contractions ("don't", "l'eau") are listed as the two words that the split makes of them. The list of English decides
/// about the figures of `docs/decisions/0006`; those of other languages have articles, pronouns, prepositions,
/// conjunctions, auxiliary verbs and question words. Languages without a stemmer are listed so that their texts are not
/// taken for those of a related one.
#[rustfmt::skip]
const LISTS: [(Language, &str); 23] = [
    (Language::Arabic, "
        في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا هل كيف متى أين لماذا كم أي كل بعض بين بعد قبل
        عند عندما حتى منذ أو او و ثم لكن لأن أن ان إن كان كانت يكون تكون هو هي هم نحن أنا أنت لا لم لن ليس قد كما غير
        حيث إذا اذا ولا وفي ومن وهو وهي به بها له لها فيه فيها عليه عليها منه منها خلال
    "),
    (Language::Bulgarian, "
        и в на за от да се не са по при със със това като че ще или които който която което към до но има може беше бъде
        той тя те ние аз ви си ли как кога къде защо какво колко кой коя този тази тези един една едно също след без
        между ако във чрез само още вече съм сме
    "),
    (Language::Czech, "
        a i o u v z s k na je se že ve ze do po za od pro při nebo jako jsou není byl byla bylo byly být co kdo jak kdy
        kde proč který která které jaký jaká jaké kolik ten ta to ty tento tato toto jeho její jejich si by aby ale když
        pokud také však podle mezi nad pod před mezi již jen už mít má mají může lze než tak tím této tohoto
    "),
    (Language::Danish, "
        og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min havde ham hun nu
        over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne ind når være dog noget
        ville jo deres efter ned skulle denne end dette mit også under have dig anden hende mine alt meget sit sine vor
        mod disse hvis din nogle hos blive mange ad bliver hendes været jer sådan hvordan hvorfor hvornår hvem hvilken
        hvilket hvilke mellem uden ved kan
    "),
    (Language::Dutch, "
        de het een en van ik te dat die in is op met voor niet zijn er was aan ook als maar om door over of bij uit naar
        dan nog wel geen kan kon tot hij zij ze wij we je jij u hun haar hem mij me mijn zich deze dit wordt worden werd
        werden heeft hebben had hoe wat welke welk waarom wanneer wie waar zal zullen zou moet moeten veel meer onder
        tegen na zonder tussen omdat toen hier daar iets niets alle andere elk
    "),
    (Language::English, "
        a about above after again against all also am an and any are aren as at be because been before being below between
        both but by can cannot could couldn d did didn do does doesn doing don down during each either etc few for from
        further had hadn has hasn have haven having he her here hers herself him himself his how however i if in into is
        isn it its itself just ll m may me might more most must my myself neither no nor not now of off on once only or
        other our ours ourselves out over own re s same shall she should shouldn so some such t than that the their theirs
        them themselves then there these they this those through thus to too under until up upon us ve very was wasn we
        were weren what when where whether which while who whom whose why will with within without won would wouldn yet you
        your yours yourself
    "),
    (Language::Finnish, "
        ja on ei se että hän oli joka jotka jonka jossa mutta niin kuin kun mitä mikä mitkä missä mistä miksi miten milloin
        kuka ketkä kuinka tai sekä myös olla ovat olen olet olemme ollut olisi olivat tämä tämän tässä tätä nämä se sen
        sitä siinä siitä ne niiden niitä hänen he heidän me meidän minä minun sinä te teidän jos koska vaan vain jo vielä
        nyt sitten ennen jälkeen kanssa ilman kautta mukaan välillä yli alle voi voidaan voivat tulee pitää kaikki
        itse eivät eikä en et emme joita joiden noin
    "),
    (Language::French, "
        le la les l un une des du de d à au aux et ou où en dans par pour sur sous avec sans chez vers entre que qu qui quoi
        dont quel quelle quels quelles comment pourquoi quand combien est sont était étaient être été a ont avait avaient
        avoir eu sera seront fait ne n pas plus ni mais donc car si ce c cet cette ces ceci cela ça se s il ils elle elles
        on nous vous je j tu me m te t lui leur leurs son sa ses mon ma mes ton ta tes notre nos votre vos y même aussi
        comme tout toute tous toutes autre autres très peut peuvent doit lors lorsque afin ainsi depuis pendant
    "),
    (Language::German, "
        der die das den dem des ein eine einen einem einer eines und oder aber denn sondern doch in im an am auf aus bei beim
        bis durch für gegen mit nach ohne seit über um unter von vom vor zu zum zur zwischen während wegen ist sind war
        waren bin bist sein wird werden wurde wurden worden würde hat haben hatte hatten habe kann können konnte muss
        müssen soll sollen darf dürfen will wollen ich du er sie es wir ihr mich mir dich dir ihn ihm ihnen uns euch sich
        mein meine dein seine seiner seinen ihre ihrer ihren unser dieser diese dieses diesem diesen jener jede jeder jedes
        alle alles man nicht kein keine keinen auch noch nur schon sehr so als wie wenn weil dass ob da dort hier dann
        wer was wo wann warum wieso weshalb woher wohin wen wem wessen welche welcher welches welchem welchen viel viele
    "),
    (Language::Greek, "
        ο η το οι τα του της των τον την τους τις στο στη στην στον στα στις στους και ή αλλά να θα δεν μην με σε για από
        προς κατά μετά πριν χωρίς είναι ήταν έχει έχουν είχε που πως πώς ποιος ποια ποιο πότε πού γιατί τι πόσο πόσα
        αυτό αυτή αυτός αυτά αυτές ένα ένας μια μία ενός μιας όταν αν ως όπως όχι εγώ εσύ εμείς μου σου μας σας
    "),
    (Language::Hungarian, "
        a az és egy is nem hogy ez azt ezt meg de ha csak már vagy mint volt van vannak lesz lehet kell el ki be fel le
        milyen mi mit ki kik hol mikor miért hogyan hány mennyi melyik amely amelyek ami aki akik amit ezek azok ennek annak
        ebben abban én te ő mi ti ők még sem sok minden között után előtt alatt felett nélkül szerint által való
        illetve valamint pedig majd úgy így mert ahol amikor során
    "),
    (Language::Italian, "
        il lo la i gli le l un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dallo dalla dai
        dagli dalle in nel nello nella nei negli nelle con col su sul sulla sui sulle per tra fra e ed o ma se che chi cui
        non è sono era erano essere stato stata stati ha hanno aveva avere come dove quando quanto quanti quante quale
        quali perché cosa questo questa questi queste quello quella quelli quelle ci si mi ti vi ne lui lei noi voi loro io
        tu suo sua suoi sue mio mia più anche dopo prima senza può possono viene tutto tutti
    "),
    (Language::Norwegian, "
        og i jeg det at en et den til er som på de med han av ikke der så var meg seg men har om vi min hadde hun nå over
        da ved fra du ut sin dem oss opp man kan hans hvor eller hva skal selv her alle vil ble kunne inn når være kom
        noen noe ville deres etter ned skulle denne enn dette mitt også under ha deg hennes mot disse hvis din bli mange
        blir vært slik hvordan hvorfor hvem hvilken hvilket hvilke mellom uten for bare
    "),
    (Language::Persian, "
        و در به از که این را با است برای آن یک تا بر هم شد شده می کرد بود خود یا اما اگر هر چه چرا کجا کی چگونه چند
        کدام نیز ها های ای شود کند کنید باشد دارد دارند بین پس پیش هستند نیست ما شما آنها همه
    "),
    (Language::Polish, "
        i w z na do się nie jest to że o jak co po od za dla przez przy pod nad między przed bez ale lub albo oraz czy kto
        kiedy gdzie dlaczego ile jaki jaka jakie który która które których są był była było były być może można ten ta te
        tego tej tym tych jego jej ich ja ty on ona my wy już tylko także więc gdy jeśli aby jako ze we tak mi go
    "),
    (Language::Portuguese, "
        o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela pelos pelas para com sem sob sobre entre
        até desde e ou mas se que quem qual quais como onde quando quanto quantos quantas porque porquê não é são era eram
        ser foi foram está estão ter tem têm tinha há haver eu tu ele ela nós vós eles elas você vocês me te lhe lhes
        meu minha seu sua seus suas este esta estes estas esse essa isso isto aquele aquela ao à aos às mais muito também
        já só ainda depois antes pode podem deve
    "),
    (Language::Romanian, "
        și si în in la de din cu pe pentru prin despre între după fără sub a al ai ale o un una unei unui cel cea cei cele
        este e sunt era erau fi fost are au avea am ai ați că să nu dar sau ori dacă ca cum când unde care cine ce cât
        câți câte de acest această acestea acești aceste acel acea el ea ei ele eu tu noi voi îl îi le se își lui lor mai
        foarte tot toate toți poate pot trebuie va vor
    "),
    (Language::Russian, "
        и в во не что он на я с со как а то все всё она так его но да ты к у же вы за бы по только ее её мне было вот от
        меня еще ещё нет о из ему теперь когда даже ну ли если уже или ни быть был была были него до вас они тут где есть
        надо ней для мы тебя их чем сам чтоб чтобы без чего под кто этот эта это эти этого этой этом эту тот того потому
        какой какая какие какое каков при об после над через между почему зачем сколько куда который которая которые
        которое которых является можно также
    "),
    (Language::Spanish, "
        el la los las lo un una unos unas de del a al en con por para sin sobre entre hasta desde hacia según durante y e o
        u ni pero sino si que quien quién qué cuál cuáles cual cuales cómo como dónde donde cuándo cuando cuánto cuántos
        cuánta cuántas porque no sí es son era eran fue fueron ser está están estar ha han había haber tiene tienen hay
        yo tú él ella nosotros ellos ellas usted ustedes me te se le les nos mi tu su sus este esta estos estas esto ese
        esa eso esos aquel aquella más muy también ya puede pueden debe otro otra cada
    "),
    (Language::Swedish, "
        och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när ut över
        då där hon vid ska skall efter upp nu också under eller vad hur varför vem vilken vilket vilka än mot blir sin
        sina sitt man hade alla andra mycket här denna detta dessa oss du ni min din hans hennes deras dem mig dig blev
        bli vara varit utan mellan genom kunde skulle vill finns inom många ingen inga något några
    "),
    (Language::Tamil, "
        ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் என்ன இருந்து
        சில என் போன்ற வேண்டும் வந்து இதன் அது அவன் தான் பலரும் என்னும் மேலும் பின்னர் ஆனால் எப்படி எங்கே யார் ஏன் எப்போது
    "),
    (Language::Turkish, "
        ve bir bu da de için ile olarak çok daha en gibi ne o kadar olan sonra var ya mi mı mu mü ki ise veya ama fakat
        değil her hangi hangisi kim nasıl neden niçin nerede nereye zaman kaç ben sen biz siz onlar onun bunun şu şey
        diye göre önce üzerinde arasında tarafından olduğu oldu olur edilir etmek eden yok hem bile böyle bazı tüm bütün
    "),
    (Language::Ukrainian, "
        і в у на з із до не що як та це за по від для про або але є був була було були бути він вона воно вони ми ви я ти
        й його її їх цей ця ці який яка яке які хто де коли чому скільки чи якщо при між без під над після також можна
        тільки ще вже щоб
    "),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_list_is_found() {
        for (language, words) in LISTS {
            for word in words.split_whitespace() {
                assert!(is_stop_word(word, language), "{word}");
                assert_eq!(word, word.to_lowercase());
            }
        }
        assert!(!is_stop_word("pump", Language::English) && !is_stop_word("the", Language::German));
    }
}

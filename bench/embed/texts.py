"""The texts that are embedded: a corpus of the BEIR form, or texts made here, the same on every machine."""
import json, random

# Plain words, some of them more than one token, so that made-up texts tokenise as abstracts do (1.3 tokens a word).
WORDS = """the of a and in to is for with by on that at from are as an was be which this it between or under were can
flow pressure boundary layer heat transfer surface wing body shock wave supersonic laminar turbulent velocity theory
method results experimental solution equations approximate number temperature plate cylinder angle attack lift drag
library information retrieval document index search user system science research study analysis data knowledge paper
harbour vessel draught quay pilot tide cargo storm anchor crew engine pump valve sensor bearing impeller gasket
membrane photosynthesis mitochondria enzyme protein cell genome varroa honeybee pollen orchard harvest soil nitrogen
committee minister election budget treaty court appeal evidence witness verdict contract liability insurance premium
measured compared shown found given obtained considered presented described developed applied discussed reported
aerodynamic thermodynamic hypersonic viscoelastic magnetohydrodynamic axisymmetric compressible incompressible
quickly slowly however therefore although because while during after before against without within several many""".split()


def load(corpus, count):
    """`count` texts: the first of the corpus, title and text, or made-up ones."""
    if corpus is None:
        return [made_up(number) for number in range(count)]
    with open(corpus, encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines if line.strip()][:count]
    return [f"{one.get('title', '')} {one['text']}".strip() for one in documents]


def made_up(number):
    """As long as an abstract is: from 50 to 300 words, 80 tokens and more, more than half of them past the 256 that are read."""
    dice = random.Random(number)
    pick = lambda limit: int(dice.random() * limit)  # `random()` is the one method that never changes
    words = [WORDS[pick(len(WORDS))] for _ in range(50 + max(pick(250), pick(250)))]
    for end in range(11, len(words), 17):
        words[end] += "."
    return " ".join(words).capitalize() + "."

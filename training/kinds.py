"""Texts that need no passage: each kind of request in some ways of saying it, filled with what it may be about."""

KINDS = ["question", "summary", "writing", "greeting", "thanks", "about", "documents"]

THINGS = """the pump manual|our travel policy|the budget of 2025|the contract with Nordwind|this document|the report
the user guide|the meeting notes|the minutes of Monday|the handbook|the change log|the licence|the installation guide
the quarterly figures|the safety rules|the style guide|the project plan|chapter 3|the file invoice.pdf|the price list
the employee handbook|the README|the specification|the novel|the tender|the email from Anna|the survey|the privacy policy
the lease|the syllabus|the recipe collection|the audit|the roadmap|the data sheet|the API reference|the press release""".replace("\n", "|").split("|")
DINGE = """das Handbuch|den Vertrag|die Reiserichtlinie|das Protokoll|dieses Dokument|den Bericht|die Anleitung
das Lastenheft|die Preisliste|den Projektplan|die Satzung|die E-Mail von Jonas|Kapitel 2|den Leitfaden""".replace("\n", "|").split("|")

TEMPLATES = {
    "summary": ["Summarise {}.", "Summarize {} for me", "Give me a summary of {}", "What is {} about?", "Sum up {}",
                "Can you summarise {} in a few points?", "I need an overview of {}", "Give me the gist of {}", "tl;dr of {}",
                "What are the main points of {}?", "What does {} say, in short?", "Please give a short overview of {}.",
                "Key takeaways of {}?", "In a nutshell, what is in {}?", "What is in {}?", "Brief me on {}", "Outline {}",
                "What is the content of {}?", "Tell me in short what {} says", "Condense {} into five bullets", "Summarise what {} says",
                "Summarise how it works according to {}", "Summarise the most important rules in {}", "What is the document {} about?"],
    "zusammenfassung": ["Fasse {} zusammen.", "Gib mir einen Überblick über {}", "Fass mir bitte {} kurz zusammen",
                        "Ich brauche eine Zusammenfassung: {}", "Was steht im Wesentlichen in {}?", "Nenne die wichtigsten Punkte: {}"],
    "writing": ["Write an email to a customer about {}.", "Draft a letter that cancels {}", "Translate {} into German",
                "Translate {} to French, please", "Rewrite {} in simpler words", "Write a poem about {}",
                "Compose a reply to {}", "Turn {} into a blog post", "Make a table from {} and add up the costs",
                "Calculate the total of all amounts in {}", "How much is 15% of 2,400?", "What is 12 * 7 + 5?",
                "Compute the average of the figures in {}", "Convert 300 miles to kilometres", "Write a Python script that reads {}",
                "Generate ten test questions from {}", "Write me a job advert", "Proofread {}", "Improve the wording of {}",
                "Create a presentation from {}", "Paraphrase the first paragraph of {}", "Prepare a speech on {}",
                "Can you write a short introduction for {}?", "Please translate this sentence: the pump is blue",
                "Say it in Spanish", "Write a LinkedIn post about {}", "Design a logo", "Invent a name for our product",
                "Add up the hours in {}", "Correct the grammar in {}", "Write unit tests for {}", "Make up a story about {}",
                "Put {} into formal language", "Work out the difference in per cent between the two totals in {}"],
    "schreiben": ["Schreibe eine E-Mail über {}.", "Übersetze {} ins Englische", "Formuliere {} um", "Entwirf einen Brief zu {}",
                  "Berechne die Summe aller Beträge: {}", "Wie viel ist 19 % von 350?", "Verfasse eine Antwort auf {}",
                  "Schreib mir ein Gedicht über {}", "Erstelle eine Präsentation: {}"],
    "greeting": ["Hi", "Hello", "Hello!", "Hey", "Hi there", "Hello there", "Good morning", "Good afternoon!", "Good evening",
                 "Greetings", "Hallo", "Guten Tag", "Guten Morgen!", "Moin", "Bonjour", "Hola", "Ciao", "Hey, how are you?",
                 "How are you?", "How are you doing today?", "Wie geht es dir?", "Servus", "Grüß Gott", "Hi, nice to meet you",
                 "Hello again", "Is anybody there?", "Hello, I have a question", "Hey Stoa", "Yo", "Hiya", "Namaste", "Good day to you"],
    "thanks": ["Thanks", "Thank you", "Thanks a lot!", "Thank you very much", "Many thanks", "thx", "Great, thanks",
                 "Ok, thanks", "Danke", "Vielen Dank!", "Danke schön", "Merci", "Gracias", "Cheers", "Perfect, thank you",
                 "That helped, thanks", "Thank you, that was helpful", "Awesome!", "Great", "Nice work", "Ok", "Okay, got it",
                 "Bye", "Goodbye", "See you", "See you later", "Tschüss", "Auf Wiedersehen", "Good night", "Have a nice day",
                 "Super, danke dir", "Wunderbar", "You are great", "Well done", "Alright", "Good job, thank you"],
    "about": ["Who are you?", "What are you?", "What can you do?", "What can you do for me?", "How can you help me?",
              "What is your name?", "Are you a bot?", "Are you an AI?", "Are you human?", "help", "What do you do?",
              "Who made you?", "Wer bist du?", "Was kannst du?", "Wie kannst du mir helfen?", "Which model are you?",
              "What are your abilities?", "How do you work?", "What questions can I ask you?", "What is this chat for?",
              "Do you know the internet?", "Can you search the web?", "Bist du ein Mensch?", "Was machst du?", "What should I ask?",
              "Tell me about yourself", "Introduce yourself", "Are you ChatGPT?", "What languages do you speak?", "How smart are you?"],
    "documents": ["Which documents do I have?", "What documents are there?", "List my documents", "Show me all documents",
                  "List all files", "What files have I uploaded?", "Which files do you know?", "What do you have access to?",
                  "How many documents do I have?", "What is in my library?", "Show my files", "Which sources do you use?",
                  "What data do you have?", "Give me a list of the documents", "Which PDFs are there?", "What have I uploaded so far?",
                  "Welche Dokumente habe ich?", "Liste alle Dokumente auf", "Welche Dateien gibt es?", "Zeig mir meine Dateien",
                  "Welche Dokumente kennst du?", "Was habe ich hochgeladen?", "What documents can you see?", "Name the documents in this space",
                  "which docs are available", "Which documents can you read?", "Are there any documents?", "What is the list of sources?"],
}
OF = {"zusammenfassung": "summary", "schreiben": "writing"}
# Questions that look like other kinds, and are none.
QUESTIONS = ["What does the summary of the report say about sales?", "Who wrote the summary?", "How do I write a bug report?",
             "How is the total calculated?", "What is the average speed of the pump?", "How do I translate a string in the template?",
             "Which documents do I need for the visa?", "Which files does the installer create?", "What documents must be signed?",
             "How many files may be open at once?", "Which document names the limits?", "What is the help desk's number?",
             "How do I list all files in a folder?", "What does the word hello print?", "Who is thanked in the preface?",
             "How can I help a colleague who is stuck?", "What can the gateway do?", "What is the name of the pump?",
             "How do I summarise a column?", "What is the budget about which they argued?", "Who are the authors?",
             "How do I convert miles to kilometres with units?", "What is written on the plate?", "How do I add up a column in Calc?",
             "Which sources of light are used?", "What is in the box?", "What is the table of contents command?",
             "Why does the program say goodbye?", "Which languages does the tool support?", "How does the cache work?",
             "What is the pump made of?", "What is a gateway?", "What is Debian?", "What is the content of the header?",
             "Was steht in Paragraf 5 zur Kündigung?", "Wie schreibe ich eine Regel?", "Welche Dokumente muss ich vorlegen?",
             "Wie viele Dateien darf ein Paket haben?", "Wie übersetze ich eine Seite?", "Was ist eine Pumpe?", "port", "default timeout",
             "Redis maxmemory", "and the second one?", "Why?", "And how long does it take?", "What about Berlin?"]


def rows(chance, questions, titles, count):
    """Yields so many rows of each kind; `questions` and `titles` are real ones."""
    made = {name: [] for name in KINDS}
    for name, templates in TEMPLATES.items():
        for template in templates:
            things = DINGE if name in OF else THINGS
            fills = things + chance.sample(titles, min(60, len(titles))) if "{}" in template else [""]
            for thing in fills:
                text = template.format(thing)
                made[OF.get(name, name)].append(text[0].upper() + text[1:])
    made["question"] = chance.sample(questions, min(len(questions), 6 * count))
    for name, texts in made.items():
        own = texts + (QUESTIONS * (count // 40) if name == "question" else [])
        wanted = 4 * count if name == "question" else count
        for index in range(wanted):
            text = chance.choice(own)
            # People write without capitals and stops.
            if chance.random() < 0.3:
                text = text.lower().rstrip("?.!")
            elif chance.random() < 0.15 and name not in ("question", "greeting"):
                text = chance.choice(["Please ", "Can you ", "Could you please ", "Hey, "]) + text[0].lower() + text[1:]
            yield {"question": text, "head": "", "text": "", "answers": [], "kind": KINDS.index(name)}

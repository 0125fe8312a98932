"""Made-up words that are as frequent as words are: few of them often, most of them seldom."""


def zipf_text(dice, words):
    return " ".join(f"w{zipf(dice, 50_000)}" for _ in range(words))


def zipf(dice, limit):
    """A number below the limit; small ones far more often."""
    return int(limit ** dice.random()) - 1

"""Topics, planted in one paragraph, so that layout gives no hint."""

CATS = (
    "The cat naps on the sofa. The kitten purrs and naps. A cat chases a mouse. Cats and kittens eat fish. "
    "My cat purrs on my lap. The kitten chases the cat. "
)
COURTS = (
    "The court heard the appeal. Judges ruled on the law. The court issued its ruling. A lawyer argued the law. "
    "The appeal went to the judge. The judge and the lawyer agreed. "
)

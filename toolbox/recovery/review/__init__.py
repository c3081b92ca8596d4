"""The review queue: calls that wait for a person, what is decided about them, and the one time that they then run."""

from toolbox.recovery.review.item import ReviewEvent, ReviewItem
from toolbox.recovery.review.letters import DeadLetterFile, DeadLetters
from toolbox.recovery.review.queue import ReviewQueue
from toolbox.recovery.review.states import ReviewState, ReviewStep, RunState

__all__ = ["DeadLetterFile", "DeadLetters", "ReviewEvent", "ReviewItem", "ReviewQueue", "ReviewState", "ReviewStep", "RunState"]

"""The brain of Faultwatch: stores what was measured, decides what is a drift, and tells."""

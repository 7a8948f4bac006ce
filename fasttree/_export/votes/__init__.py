"""Models that vote, boosted trees and rules, as programs and SQL."""

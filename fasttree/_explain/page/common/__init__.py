"""What the pages of trees and of additive models share."""

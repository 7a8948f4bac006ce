"""C4.5's pruning of trees and selection of rules."""

//go:build race

package oracle

// underRace: there is but one goroutine here, so that the race detector has
// nothing to find; it makes all this ten times as long.
const underRace = true

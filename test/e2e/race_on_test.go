//go:build race

package e2e

// underRace: the race detector looks for data races, for which it takes neither
// ten thousand sweeps nor a share of time to the percent; it makes all this ten
// times as long.
const underRace = true

//go:build !race

package oracle

const underRace = false

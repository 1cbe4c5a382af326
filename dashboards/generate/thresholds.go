package generate

import "github.com/lso-exporter/lso-exporter/config"

// defaults is the configuration of who sets nothing. Colours change where its
// alerts would fire.
var defaults = func() config.Config {
	loaded, err := config.Load(config.Sources{})
	if err != nil {
		panic("generate: the defaults do not load: " + err.Error())
	}
	c, err := loaded.ValidatedOffline()
	if err != nil {
		panic("generate: the defaults are not valid: " + err.Error())
	}
	return c
}()

// heldAfter is for how many seconds a last stable offset must have stood still
// for the partition to count as held back: from then on the exporter looks for
// the transaction, too.
var heldAfter = defaults.Transactions.LookUpAfter.Seconds()

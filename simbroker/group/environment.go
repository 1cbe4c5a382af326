package group

// Environment is all that a coordinator needs from elsewhere.
type Environment struct {
	Log      Log
	Verifier Verifier
	Topics   Topics
	Shares   ShareStates
	// Settings are those of one group.
	Settings func(groupID string) Settings
	// UUID returns a random UUID in its text form; member ids end in one. It
	// draws on the cluster's seed.
	UUID func() string
}

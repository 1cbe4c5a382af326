package group

import "time"

// Settings are what a group may set for itself over the broker's own values
// (the configuration resource GROUP).
type Settings struct {
	ConsumerSessionTimeout     time.Duration // consumer.session.timeout.ms
	ConsumerHeartbeatInterval  time.Duration // consumer.heartbeat.interval.ms
	ConsumerAssignmentInterval time.Duration // consumer.assignment.interval.ms
	ShareSessionTimeout        time.Duration // share.session.timeout.ms
	ShareHeartbeatInterval     time.Duration // share.heartbeat.interval.ms
	ShareAssignmentInterval    time.Duration // share.assignment.interval.ms
	StreamsSessionTimeout      time.Duration // streams.session.timeout.ms
	StreamsHeartbeatInterval   time.Duration // streams.heartbeat.interval.ms
	StreamsAssignmentInterval  time.Duration // streams.assignment.interval.ms
	StreamsInitialDelay        time.Duration // streams.initial.rebalance.delay.ms
	StreamsStandbys            int           // streams.num.standby.replicas
}

// DefaultSettings is what groups do that set nothing, at a broker that was told
// nothing.
func DefaultSettings() Settings {
	return Settings{
		ConsumerSessionTimeout:     45 * time.Second,
		ConsumerHeartbeatInterval:  5 * time.Second,
		ConsumerAssignmentInterval: time.Second,
		ShareSessionTimeout:        45 * time.Second,
		ShareHeartbeatInterval:     5 * time.Second,
		ShareAssignmentInterval:    time.Second,
		StreamsSessionTimeout:      45 * time.Second,
		StreamsHeartbeatInterval:   5 * time.Second,
		StreamsAssignmentInterval:  time.Second,
		StreamsInitialDelay:        3 * time.Second,
	}
}

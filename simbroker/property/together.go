package property

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Check says whether a broker starts with this configuration, each value of
// which is legal by itself: whether they agree with each other, as KafkaConfig,
// GroupCoordinatorConfig and ShareGroupConfig ask. The error is a *ValueError
// with the name of a property that somebody set.
func (c *Config) Check() error {
	for _, check := range []func(*Config) *ValueError{
		checkOrders(brokerOrders, (*Config).brokerNumber), checkSegments, checkCleaner, checkFollowers, checkLogDirs, checkConnections,
	} {
		if bad := check(c); bad != nil {
			return bad
		}
	}
	return nil
}

// CheckTopic says whether a topic may have these values of its own on a broker
// without tiered storage, each of which is legal by itself. The error is a
// *ValueError.
func (c *Config) CheckTopic(own Values) error {
	t := c.Topic(own)
	if least, most := t.Int("min.compaction.lag.ms"), t.Int("max.compaction.lag.ms"); least > most {
		return &ValueError{Name: "min.compaction.lag.ms", Value: strconv.FormatInt(least, 10), whole: true,
			Reason: fmt.Sprintf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", least, most),
			Remedy: fmt.Sprintf("at most %d", most)}
	}
	if t.Bool("remote.storage.enable") {
		return &ValueError{Name: "remote.storage.enable", Value: "true", whole: true,
			Reason: "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
			Remedy: "false"}
	}
	return nil
}

// CheckGroup says whether a group may have these values of its own, each of
// which is legal by itself: whether they lie within the bounds that the broker
// sets. The error is a *ValueError.
func (c *Config) CheckGroup(own Values) error {
	g := c.Group(own)
	number := func(_ *Config, name string) int64 {
		if _, ok := Lookup(Group, name); ok {
			return g.Int(name)
		}
		return c.Int(name)
	}
	if bad := checkOrders(groupOrders, number)(c); bad != nil {
		return bad
	}
	return nil
}

func (c *Config) brokerNumber(name string) int64 { return c.Int(name) }

// order says that one number must not be below or above another, in Kafka's
// words.
type order struct {
	name     string
	relation string
	other    string
}

const (
	notBelow = "must be greater than or equal to"
	notAbove = "must be less than or equal to"
	below    = "must be less than"
	above    = "must be greater than"
)

func (o order) holds(a, b int64) bool {
	switch o.relation {
	case notBelow:
		return a >= b
	case notAbove:
		return a <= b
	case below:
		return a < b
	}
	return a > b
}

// brokerOrders are those of GroupCoordinatorConfig and ShareGroupConfig, in
// their order.
var brokerOrders = slices.Concat(
	protocolOrders("group.consumer."),
	protocolOrders("group.share."),
	protocolOrders("group.streams."),
	[]order{
		{"group.streams.num.standby.replicas", notAbove, "group.streams.max.standby.replicas"},
		{"group.share.max.delivery.count.limit", notBelow, "group.share.delivery.count.limit"},
		{"group.share.delivery.count.limit", notBelow, "group.share.min.delivery.count.limit"},
		{"group.share.max.partition.max.record.locks", notBelow, "group.share.partition.max.record.locks"},
		{"group.share.partition.max.record.locks", notBelow, "group.share.min.partition.max.record.locks"},
		{"group.share.record.lock.duration.ms", notBelow, "group.share.min.record.lock.duration.ms"},
		{"group.share.max.record.lock.duration.ms", notBelow, "group.share.record.lock.duration.ms"},
		{"group.share.max.share.sessions", notBelow, "group.share.max.size"},
	})

func protocolOrders(protocol string) []order {
	within := func(what string) []order {
		return []order{
			{protocol + "max." + what, notBelow, protocol + "min." + what},
			{protocol + what, notBelow, protocol + "min." + what},
			{protocol + what, notAbove, protocol + "max." + what},
		}
	}
	const heartbeat, session = "heartbeat.interval.ms", "session.timeout.ms"
	return slices.Concat(within(heartbeat), within(session),
		[]order{{protocol + heartbeat, below, protocol + session}}, within("assignment.interval.ms"))
}

// groupOrders are those of GroupConfig, in its order.
var groupOrders = slices.Concat(
	groupBounds("consumer.", "heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"),
	groupBounds("share.", "heartbeat.interval.ms", "session.timeout.ms", "record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks", "assignment.interval.ms"),
	groupBounds("streams.", "heartbeat.interval.ms", "session.timeout.ms"),
	[]order{{"streams.num.standby.replicas", notAbove, "group.streams.max.standby.replicas"}},
	groupBounds("streams.", "assignment.interval.ms"),
	[]order{
		{"consumer.session.timeout.ms", above, "consumer.heartbeat.interval.ms"},
		{"share.session.timeout.ms", above, "share.heartbeat.interval.ms"},
		{"streams.session.timeout.ms", above, "streams.heartbeat.interval.ms"},
	})

func groupBounds(protocol string, names ...string) []order {
	var orders []order
	for _, name := range names {
		orders = append(orders,
			order{protocol + name, notBelow, "group." + protocol + "min." + name},
			order{protocol + name, notAbove, "group." + protocol + "max." + name})
	}
	return orders
}

// checkOrders is the check of these, with numbers as they are looked up.
func checkOrders(orders []order, number func(c *Config, name string) int64) func(c *Config) *ValueError {
	return func(c *Config) *ValueError {
		for _, o := range orders {
			a, b := number(c, o.name), number(c, o.other)
			if o.holds(a, b) {
				continue
			}
			name := c.blamed(o.name, o.other)
			reason := fmt.Sprintf("%s %s %s", o.name, o.relation, o.other)
			return &ValueError{Name: name, Value: strconv.FormatInt(number(c, name), 10), Reason: reason, whole: true,
				Remedy: fmt.Sprintf("them to agree: %s is %d, and %s is %d", o.name, a, o.other, b)}
		}
		return nil
	}
}

// blamed is the first of the names that somebody set.
func (c *Config) blamed(names ...string) string {
	for _, name := range names {
		if _, _, set := c.set(name); set {
			return name
		}
	}
	return names[0]
}

// require is the error for a requirement that is not met, blamed on the first of
// the names that somebody set.
func (c *Config) require(reason, remedy string, names ...string) *ValueError {
	name := c.blamed(names...)
	return &ValueError{Name: name, Value: c.String(name), Reason: "requirement failed: " + reason, Remedy: remedy, whole: true}
}

// firstSet is the value of the first of a topic's inherited properties that is
// set, in milliseconds.
func (c *Config) firstSet(topicProperty string) (name string, ms int64) {
	d := index[Topic][topicProperty]
	for _, name := range d.Inherits {
		if v, _, ok := c.set(name); ok {
			return name, parseInt(name, milliseconds(name, v))
		}
	}
	return d.Inherits[0], parseInt(d.Name, d.Default)
}

// checkSegments looks at what topics inherit of their segments.
func checkSegments(c *Config) *ValueError {
	if name, ms := c.firstSet("segment.ms"); ms < 1 {
		return c.require("log.roll.ms must be greater than or equal to 1", "at least 1", name)
	}
	if name, ms := c.firstSet("segment.jitter.ms"); ms < 0 {
		return c.require("log.roll.jitter.ms must be greater than or equal to 0", "at least 0", name)
	}
	if name, ms := c.firstSet("retention.ms"); ms == 0 {
		return c.require("log.retention.ms must be unlimited (-1) or, greater than or equal to 1", "-1, or at least 1", name)
	}
	return nil
}

func checkCleaner(c *Config) *ValueError {
	const threads, buffer = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size"
	switch n := c.Int(threads); {
	case n == 0:
		return &ValueError{Name: threads, Value: c.String(threads), Reason: "/ by zero", Remedy: "at least 1", whole: true}
	case c.Int(buffer)/n <= 1<<20:
		return c.require(buffer+" must be at least 1MB per cleaner thread.", fmt.Sprintf("more than %d bytes of %s", n<<20, buffer), buffer, threads)
	}
	return nil
}

func checkFollowers(c *Config) *ValueError {
	const wait, lag, socket = "replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "replica.socket.timeout.ms"
	switch longest := c.Int(wait); {
	case longest > c.Int(socket):
		return c.require(socket+" should always be at least "+wait+" to prevent unnecessary socket timeouts",
			fmt.Sprintf("%s of %d at most", wait, c.Int(socket)), socket, wait)
	case longest > c.Int(lag):
		return c.require(wait+" should always be less than or equal to "+lag+" to prevent frequent changes in ISR",
			fmt.Sprintf("%s of %d at most", wait, c.Int(lag)), lag, wait)
	}
	return nil
}

func checkLogDirs(c *Config) *ValueError {
	const cordoned = "cordoned.log.dirs"
	dirs := c.List("log.dirs")
	if dirs == nil {
		dirs = c.List("log.dir")
	}
	named := c.List(cordoned)
	if slices.Contains(named, "*") {
		if len(named) > 1 {
			return c.require("When "+cordoned+" is set to *, it must not contain other values", "* alone", cordoned)
		}
		return nil
	}
	var missing []string
	for _, dir := range named {
		if !slices.Contains(dirs, dir) && !slices.Contains(missing, dir) {
			missing = append(missing, dir)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.require("All entries in "+cordoned+" must be present in log.dirs or log.dir. Missing entries : "+strings.Join(missing, ", "),
		"some of "+strings.Join(dirs, ", "), cordoned)
}

func checkConnections(c *Config) *ValueError {
	const (
		queued, largest = "queued.max.request.bytes", "socket.request.max.bytes"
		perIP, others   = "max.connections.per.ip", "max.connections.per.ip.overrides"
		delay, idle     = "connection.failed.authentication.delay.ms", "connections.max.idle.ms"
	)
	if q := c.Int(queued); q > 0 && q < c.Int(largest) {
		return c.require(queued+" must be larger or equal to "+largest, "at least "+c.String(largest)+", or -1", queued, largest)
	}
	if c.Int(perIP) == 0 && c.String(others) == "" {
		return c.require(perIP+" can be set to zero only if "+others+" property is set.", "at least 1", perIP)
	}
	if d, i := c.Int(delay), c.Int(idle); i >= 0 && d >= i {
		return c.require(fmt.Sprintf("%s=%d should always be less than %s=%d to prevent failed authentication responses from timing out", delay, d, idle, i),
			fmt.Sprintf("%s above %d", idle, d), idle, delay)
	}
	return nil
}

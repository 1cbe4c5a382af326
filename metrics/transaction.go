package metrics

import (
	"strconv"

	"github.com/lso-exporter/lso-exporter/lag"
)

// transactionSources are the metrics of transactions as their coordinators list
// them.
var transactionSources = []source{
	declare(Metric{
		Name: "kafka_transactional_ids", Type: Gauge, Unit: "transactional ids", Section: 6, Collector: "transactions",
		Meaning: "Transactional ids that coordinators know, by state and by application, a name that is made of the id by the patterns of transactions.applications. Counted once in every transactions.census_interval; absent while a coordinator does not tell all it keeps, or ids are hidden from the exporter's principal.",
	}, nil, []string{"state", "application"}, func(o *objects) []labelled[*lag.IDCount] { return o.idCounts },
		func(c *lag.IDCount, add emit) { add(float64(c.Count), string(c.State), c.Application) }),

	declare(Metric{
		Name: "kafka_transactions_max_completing_seconds", Type: Gauge, Unit: "seconds", Section: 6, Collector: "transactions",
		Meaning: "For how long the oldest of the transactions that are decided (PrepareCommit, PrepareAbort) and not completed has been seen so at its coordinator, as of the last census, one in every transactions.census_interval. 0 at first sight. It needs no partition to be held: a coordinator may be stuck when all end markers are written.",
		Sparse:  "while the coordinator has such transactions",
	}, []string{"broker"}, nil, func(o *objects) []labelled[*lag.Completion] { return o.completing },
		func(c *lag.Completion, add emit) { add(c.Longest.Seconds()) }),
}

// setTransactions lists what the last census says.
func (o *objects) setTransactions(view *lag.View) {
	counts, _ := view.TransactionalIDs.Get()
	for i := range counts {
		ascending("counts of transactional ids", counts, i, func(c lag.IDCount) string { return string(c.State) + "\x00" + c.Application })
		o.idCounts = append(o.idCounts, labelled[*lag.IDCount]{&counts[i], o.base})
		o.note("application", counts[i].Application)
	}
	for i := range view.Completing {
		c := &view.Completing[i]
		ascending("coordinators", view.Completing, i, func(c lag.Completion) lag.BrokerID { return c.Broker })
		o.completing = append(o.completing, labelled[*lag.Completion]{c, o.labels(o.pair("broker", strconv.Itoa(int(c.Broker))))})
	}
}

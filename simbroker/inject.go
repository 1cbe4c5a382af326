package simbroker

import (
	"errors"
	"fmt"
)

// Install puts a fault in place until remove is called. Those that were
// installed first strike first.
func (c *Cluster) Install(f Fault) (remove func()) {
	id := c.Inject(f)
	return func() { _ = c.Withdraw(id) } // it may have been withdrawn before
}

// Inject is Install for callers that keep a number: the id by which Withdraw
// removes the fault.
func (c *Cluster) Inject(f Fault) (id int) {
	c.loop.Do(func() {
		id = c.faults.install(f)
		switch f := f.(type) {
		case ForgetTransactionalID:
			c.forget(f.ID)
		case HoldFetches:
			c.fetchAnew()
		}
		c.setNodes(f)
		c.logf("fault %d: %s", id, f)
	})
	return id
}

// Withdraw removes an installed fault. Errors: ErrUnknownFault.
func (c *Cluster) Withdraw(id int) error {
	err := fmt.Errorf("fault %d: %w", id, ErrUnknownFault)
	c.loop.Do(func() {
		removed := c.faults.remove(id)
		if removed == nil {
			return
		}
		c.setNodes(removed.fault)
		removed.release()
		c.logf("fault %d withdrawn: %s", id, removed.fault)
		err = nil
	})
	return err
}

// ErrUnknownFault is returned for an id that no installed fault has.
var ErrUnknownFault = errors.New("no such fault is installed")

// Injection is an installed fault with its id.
type Injection struct {
	ID    int
	Fault Fault
}

// Injections lists what is installed, in that order.
func (c *Cluster) Injections() []Injection {
	var list []Injection
	c.loop.Do(func() {
		for _, i := range c.faults.installed {
			list = append(list, Injection{i.id, i.fault})
		}
	})
	return list
}

// Faults lists what is installed.
func (c *Cluster) Faults() []Fault {
	var list []Fault
	for _, i := range c.Injections() {
		list = append(list, i.Fault)
	}
	return list
}

// fetchAnew has every follower say what it fetches, so that a fault can keep it
// from it.
func (c *Cluster) fetchAnew() {
	for _, b := range c.brokers {
		if b.alive {
			b.replicas.FetchAnew()
		}
	}
}

// setNodes sets the clocks of brokers and cuts them off by what is installed, when
// a fault that is about that has come or gone.
func (c *Cluster) setNodes(changed Fault) {
	for _, b := range c.brokers {
		switch changed.(type) {
		case SkewClock:
			b.host.Skew(c.faults.skew(b.id))
		case CutOff:
			b.setCut(c.faults.cut(b.id))
		}
	}
}

// forget makes every coordinator lose a transactional id.
func (c *Cluster) forget(id string) {
	for _, b := range c.brokers {
		if b.alive {
			b.txn.Forget(id)
		}
	}
}

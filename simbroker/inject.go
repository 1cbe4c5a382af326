package simbroker

import (
	"errors"
	"fmt"
)

// Install puts a fault in place until remove is called. Those that were
// installed first strike first. It panics where Inject has an error: a test whose
// fault never strikes would tell nothing.
func (c *Cluster) Install(f Fault) (remove func()) {
	id, err := c.Inject(f)
	if err != nil {
		panic("simbroker: " + err.Error())
	}
	return func() { _ = c.Withdraw(id) } // it may have been withdrawn before
}

// Inject is Install for callers that keep a number: the id by which Withdraw
// removes the fault. Errors: ErrUnknownBroker, ErrUnknownTransactionalID, or what
// keeps the fault from ever striking, such as a negative delay; it is not installed
// then.
func (c *Cluster) Inject(f Fault) (id int, err error) {
	if err := c.checkFault(f); err != nil {
		return 0, fmt.Errorf("%v: %w", f, err)
	}
	c.loop.Do(func() {
		if forget, ok := f.(ForgetTransactionalID); ok && !c.forget(forget.ID) {
			err = fmt.Errorf("%v: %w: no coordinator that runs has it", f, ErrUnknownTransactionalID)
			return
		}
		id = c.faults.install(f)
		if _, ok := f.(HoldFetches); ok {
			c.fetchAnew()
		}
		c.setNodes(f)
		c.logf("fault %d: %s", id, f)
	})
	return id, err
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

// ErrUnknownTransactionalID is returned for a transactional id that no coordinator
// has.
var ErrUnknownTransactionalID = errors.New("no such transactional id")

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

// forget makes every coordinator lose a transactional id, and says whether one
// knew it.
func (c *Cluster) forget(id string) (known bool) {
	for _, b := range c.brokers {
		if b.alive && b.txn.Forget(id) {
			known = true
		}
	}
	return known
}

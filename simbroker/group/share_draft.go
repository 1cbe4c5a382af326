package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// shareDraft is a share group with changes that are not written yet; see
// consumerDraft.
type shareDraft struct {
	*share
	copied bool
	now    int64
	changes
}

func (d *shareDraft) emit(r Record) {
	if !d.copied {
		d.share, d.copied = d.share.clone(), true
	}
	d.records = append(d.records, r)
	d.share.replay(r, d.now)
}

// draftShare begins with the group as it is, or with a new one. No group of
// another kind becomes a share group.
func (c shareGroups) draftShare(id string, create bool) (*shareDraft, error) {
	found, exists := c.groups[id]
	g, ok := found.(*share)
	switch {
	case ok:
		return &shareDraft{share: g, now: c.now()}, nil
	case exists:
		return nil, notA("share", id)
	case !create:
		return nil, refuse(kafka.ErrGroupIDNotFound, "Share group %s not found.", id)
	}
	return &shareDraft{share: newShare(id), copied: true, now: c.now()}, nil
}

package sidecar

import (
	"gpujoin/shm"
	"gpujoin/sidecar/memory"
)

// chainFilled takes over an extent of the participant's chain (CHAIN_FILLED).
func (j *job) chainFilled(p *participant, v *shm.ChainFilled) error {
	h, usable, err := j.take(p, v.Extent)
	added := false
	if usable {
		added, err = j.addToChain(p, h, v)
	}
	if h != nil && !added {
		h.extent.Release()
	}
	return err
}

// addToChain adds an extent to its chain. It returns false without an error if
// the job has failed.
func (j *job) addToChain(p *participant, h *holding, v *shm.ChainFilled) (added bool, err error) {
	header, _, err := shm.ReadChainExtent(h.extent.Data)
	if err != nil {
		return false, violation("%v", err)
	}
	if header.Chain != v.Chain || header.Bytes != v.Bytes || v.Reserved != 0 {
		return false, violation("the header of chain extent %#x differs from CHAIN_FILLED", v.Chain)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return false, nil
	}
	if shm.ChainParticipant(v.Chain) != p.stats.Participant {
		return false, violation("extent %#x does not belong to the chain of participant %d", v.Chain, p.stats.Participant)
	}
	if j.chains[v.Chain].extent != nil {
		return false, violation("chain extent %#x arrived twice", v.Chain)
	}
	j.chains[v.Chain] = chainExtent{h.extent, v.Bytes}
	j.bytesIn += int64(v.Bytes)
	return true, nil
}

// chainExtent is an extent of a participant's chain and its number of data
// bytes.
type chainExtent struct {
	extent *memory.Extent
	bytes  uint32
}

// chainGet sends an extent of a chain (CHAIN_GET). The participant holds it
// until it sends RELEASE.
func (j *job) chainGet(p *participant, v *shm.ChainGet) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return nil
	}
	c := j.chains[v.Chain]
	if c.extent == nil {
		return violation("no chain has extent %#x", v.Chain)
	}
	p.hold(c.extent, roleChain)
	m := shm.ChainExtent{Extent: c.extent.ID, Chain: v.Chain, Bytes: c.bytes}
	p.out.send(shm.AppendFrame(nil, shm.MsgChainExtent, 1, &m), c.extent)
	return nil
}

// freeChains releases the extents of all chains. The caller holds j.mu.
func (j *job) freeChains() {
	for _, c := range j.chains {
		c.extent.Release()
	}
	j.chains = map[uint64]chainExtent{}
}

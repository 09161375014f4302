import { useEffect, useState } from 'react'
import type { Agent } from '../../shared/agents/queries.ts'
import { uk } from '../../shared/api.ts'
import { type Send, useSend } from '../../ui/calls/send.ts'
import { say } from '../../ui/toast/toast.tsx'
import { type AgentChanges, refreshAgents } from '../queries.ts'
import { type AgentDraft, changesOf, draftOf } from './draft.ts'

export type SetField = <K extends keyof AgentDraft>(field: K) => (value: AgentDraft[K]) => void

export interface AgentEditing {
  draft: AgentDraft
  /** The agent this draft is based on. */
  base: Agent
  isUnsaved: boolean
  /** Another version was saved since this draft was started. */
  isOutdated: boolean
  sending: Send<{ id: string } & AgentChanges, Agent>
  set: SetField
  save: () => void
  discard: () => void
}

/** The agent's draft. Without unsaved changes, it follows changes by others. */
export function useAgentDraft(agent: Agent): AgentEditing {
  const [draft, setDraft] = useState(() => draftOf(agent))
  const [base, setBase] = useState(agent)
  const changes = changesOf(base, draft)
  const isUnsaved = changes !== null
  const show = (saved: Agent): void => {
    setBase(saved)
    setDraft(draftOf(saved))
  }
  useEffect(() => {
    if (!isUnsaved && agent !== base) show(agent)
  }, [agent, base, isUnsaved])
  const sending = useSend(uk.agents.update, (saved) => {
    show(saved)
    void refreshAgents()
    say(saved.version === base.version ? 'Saved' : `Saved as version ${saved.version}`)
  })
  return {
    draft,
    base,
    isUnsaved,
    isOutdated: agent.version !== base.version,
    sending,
    set: (field) => (value) => setDraft((now) => ({ ...now, [field]: value })),
    save: () => {
      if (changes) void sending.send({ id: agent.id, ...changes })
    },
    discard: () => {
      show(agent)
      sending.reset()
    },
  }
}

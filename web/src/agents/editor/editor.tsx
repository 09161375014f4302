import { useEffect, useState } from 'react'
import { type Period, periods } from '../../shared/money/spend-cap.ts'
import { uk } from '../../shared/api.ts'
import { ModelPicker } from '../../shared/models/model-picker.tsx'
import type { Place } from '../../shared/rights.ts'
import { AreaField } from '../../ui/area-field.tsx'
import { Button } from '../../ui/button.tsx'
import { say } from '../../ui/dialogs/toast.tsx'
import { Unsaved } from '../../ui/dialogs/unsaved.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { usd } from '../../ui/text/format.ts'
import { refreshAgents } from '../queries.ts'
import type { Agent } from '../../shared/agents/queries.ts'
import { Computers } from './computers.tsx'
import { type AgentDraft, changesOf, draftOf } from './draft.ts'
import { InstructionsField } from './instructions-field.tsx'
import { ServersField } from './servers-field.tsx'
import { SubagentsField } from './subagents-field.tsx'
import { ToolsField } from './tools-field.tsx'

export function Editor({
  agent,
  place,
  onUnsaved,
}: {
  agent: Agent
  place: Place
  onUnsaved: (unsaved: boolean) => void
}) {
  const [draft, setDraft] = useState(() => draftOf(agent))
  /** The agent this draft is based on. */
  const [base, setBase] = useState(agent)
  const changes = changesOf(base, draft)
  const unsaved = changes !== null
  const overtaken = agent.version !== base.version
  // For shared agents, the server decides about the permission when saving.
  const locked = agent.status !== 'active' || (place.workspace !== null && !place.may('agent:write'))
  const member = place.workspace !== null
  useEffect(() => onUnsaved(unsaved), [unsaved, onUnsaved])
  useEffect(() => {
    // Without unsaved changes, the editor follows changes by others.
    if (unsaved || agent === base) return
    setBase(agent)
    setDraft(draftOf(agent))
  }, [agent, base, unsaved])
  const sending = useSend(uk.agents.update, (saved) => {
    setBase(saved)
    setDraft(draftOf(saved))
    void refreshAgents()
    say(saved.version === base.version ? 'Saved' : `Saved as version ${saved.version}`)
  })
  const set =
    <K extends keyof AgentDraft>(field: K) =>
    (value: AgentDraft[K]): void =>
      setDraft((now) => ({ ...now, [field]: value }))
  const save = (): void => {
    if (changes) void sending.send({ id: agent.id, ...changes })
  }
  const { at } = sending
  return (
    <form
      ref={sending.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
      onKeyDown={(event) => {
        if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        save()
      }}
    >
      <Unsaved on={unsaved} />
      <fieldset disabled={locked} className="min-w-0">
        <legend className="sr-only">Setup</legend>
        <div className="space-y-5">
          <TextField label="Name" autoComplete="off" value={draft.name} onValue={set('name')} error={at('name')} />
          <TextField
            label="Description"
            optional
            value={draft.description}
            onValue={set('description')}
            hint="Helps people choose this agent."
            error={at('description')}
          />
          <InstructionsField
            value={draft.system_prompt}
            onValue={set('system_prompt')}
            locked={locked}
            error={at('system_prompt')}
          />
          <div>
            <p className="mb-1 text-sm font-medium">Model</p>
            <div className="flex flex-wrap items-center gap-2">
              <div className="min-w-0 border border-keyline bg-sheet">
                <ModelPicker model={draft.model} onModel={set('model')} />
              </div>
              {draft.model !== null && !locked && (
                <Button look="quiet" onClick={() => set('model')(null)}>
                  Let the chat decide
                </Button>
              )}
            </div>
            <p className="mt-1 text-[0.8125rem] text-quiet">
              {draft.model === null ? 'The agent uses the default model of the person using it.' : null}
            </p>
            {at('model') && <p className="mt-1 text-[0.8125rem] font-medium text-seal">{at('model')}</p>}
          </div>
        </div>
        <Section
          title="Tools"
          about="The agent acts with the permissions of the person using it. Tools set to “Ask” wait for approval before every call."
        >
          <ToolsField tools={draft.tools} onTools={set('tools')} locked={locked || !member} error={at('tools')} />
          <Computers workspaceId={agent.workspace_id} tools={draft.tools} member={member} />
          <ServersField
            servers={draft.mcp_servers}
            onServers={set('mcp_servers')}
            agent={base}
            locked={locked || !member}
            unsaved={unsaved}
            error={at('mcp_servers')}
          />
          <SubagentsField
            subagents={draft.subagents}
            onSubagents={set('subagents')}
            agent={agent}
            locked={locked || !member}
            error={at('subagents')}
          />
        </Section>
        <Section title="Limits" about="All limits are optional.">
          <div className="grid gap-4 sm:grid-cols-3">
            <TextField
              label="Spend cap in USD"
              inputMode="decimal"
              placeholder="no cap"
              disabled={!member}
              value={draft.spend_cap_usd}
              onValue={set('spend_cap_usd')}
              hint={`${usd(agent.spent_usd)} spent so far`}
              error={at('spend_cap_usd')}
            />
            <SelectField<Period>
              label="Per"
              disabled={!member}
              value={draft.spend_cap_period}
              onValue={set('spend_cap_period')}
              options={periods}
              error={at('spend_cap_period')}
            />
            <TextField
              label="Steps per run"
              inputMode="numeric"
              placeholder="default"
              value={draft.max_turns}
              onValue={set('max_turns')}
              error={at('max_turns')}
            />
          </div>
          <details className="mt-4" open={draft.output_schema !== '' || at('output_schema') !== null}>
            <summary className="w-fit text-sm text-quiet hover:text-ink">Structured output</summary>
            <div className="mt-3">
              <AreaField
                label="JSON Schema of the responses"
                optional
                mono
                rows={4}
                value={draft.output_schema}
                onValue={set('output_schema')}
                readOnly={locked}
                error={at('output_schema')}
              />
            </div>
          </details>
        </Section>
      </fieldset>
      {!locked && (unsaved || sending.failed) && (
        <div className="sticky bottom-0 z-10 mt-8 space-y-2 border border-keyline bg-paper px-4 py-3 shadow-[0_-12px_32px_-16px_rgb(8_14_22/.35)]">
          <Refused>
            {sending.rest(
              'name',
              'description',
              'system_prompt',
              'model',
              'tools',
              'mcp_servers',
              'subagents',
              'spend_cap_usd',
              'spend_cap_period',
              'max_turns',
              'output_schema',
            )}
          </Refused>
          {overtaken && (
            <p role="status" className="text-sm text-ochre">
              Another user saved version {agent.version}. Saving overwrites their changes.
            </p>
          )}
          <div className="flex flex-wrap items-center gap-2">
            <p className="min-w-0 flex-1 basis-32 text-sm text-quiet">Unsaved changes</p>
            <Button
              onClick={() => {
                setBase(agent)
                setDraft(draftOf(agent))
                sending.reset()
              }}
            >
              {overtaken ? 'Use their version' : 'Discard changes'}
            </Button>
            <Button look="primary" type="submit" pending={sending.pending} title="Ctrl S">
              Save agent
            </Button>
          </div>
        </div>
      )}
    </form>
  )
}

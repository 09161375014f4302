import { useState } from 'react'
import { type Workspace, uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { type Automation, refreshAutomations } from '../queries.ts'
import { ownZone, wallTime } from '../zone.ts'
import { ActionFields } from './action-fields.tsx'
import { type AutomationDraft, changesOf, draftOf, emptyDraft, newAutomationOf, scheduleOf } from './draft.ts'
import { WhenFields } from './when-fields.tsx'

type CreatedAutomation = Awaited<ReturnType<typeof uk.automations.create>>

const shown = [
  'name',
  'workspace_id',
  'schedule',
  'time_zone',
  'action.agent_id',
  'action.chat_id',
  'action.prompt',
  'action.computer_id',
  'action.command',
  'max_cost_usd',
  'timeout_seconds',
]

export function AutomationDialog({
  before,
  workspaces,
  agentId = '',
  preferred,
  open,
  onOpen,
  onDone,
}: {
  before: Automation | null
  workspaces: readonly Workspace[]
  agentId?: string
  preferred?: string | undefined
  open: boolean
  onOpen: (open: boolean) => void
  onDone: (done: Automation | CreatedAutomation) => void
}) {
  const [draft, setDraft] = useState(() =>
    before ? draftOf(before, ownZone()) : newDraft(workspaces, preferred, agentId),
  )
  const [missing, setMissing] = useState<string | null>(null)
  const set = (change: Partial<AutomationDraft>): void => {
    setMissing(null)
    setDraft((now) => ({ ...now, ...change }))
  }
  const understood = scheduleOf(draft, wallTime(draft.time_zone) ?? wallTime('UTC')!)
  const sending = useSend(
    async ({ schedule }: { schedule: string | null }): Promise<Automation | CreatedAutomation> =>
      before
        ? uk.automations.update(changesOf(before, draft, schedule))
        : uk.automations.create(newAutomationOf(draft, schedule)),
    (done) => {
      void refreshAutomations()
      onOpen(false)
      onDone(done)
    },
  )
  const send = (): void => {
    if (understood !== null && 'why' in understood) return setMissing(understood.why)
    void sending.send({ schedule: understood?.schedule ?? null })
  }
  const { at } = sending
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      wide
      title={before ? `Edit automation ${before.name}` : 'Create automation'}
      about={
        before
          ? 'If you change the action, or another member’s schedule, the automation runs with your permissions from then on.'
          : 'Runs use your permissions, checked at each run, and are billed to you.'
      }
      sending={sending}
      fields={shown}
      verb={before ? 'Save automation' : 'Create automation'}
      onSend={send}
    >
      <div className="grid gap-5 sm:grid-cols-2">
        <TextField
          label="Name"
          autoComplete="off"
          value={draft.name}
          onValue={(name) => set({ name })}
          error={at('name')}
        />
        {before === null && workspaces.length > 1 && (
          <SelectField
            label="Workspace"
            value={draft.workspace_id}
            onValue={(workspace_id) => set({ workspace_id, agent_id: '', computer_id: '', chat_id: '' })}
            options={workspaces.map(({ id, name }) => [id, name] as const)}
            error={at('workspace_id')}
          />
        )}
      </div>
      <WhenFields
        draft={draft}
        set={set}
        kind={before?.kind ?? null}
        understood={understood}
        error={missing ?? at('schedule')}
        zoneError={at('time_zone')}
      />
      <ActionFields draft={draft} set={set} at={at} />
      <LimitFields draft={draft} set={set} at={at} />
    </FormDialog>
  )
}

/** A draft in the preferred workspace, or else in the personal one. */
function newDraft(workspaces: readonly Workspace[], preferred: string | undefined, agentId: string): AutomationDraft {
  const workspace =
    workspaces.find(({ id }) => id === preferred) ?? workspaces.find(({ kind }) => kind === 'personal') ?? workspaces[0]
  return emptyDraft(workspace?.id ?? '', ownZone(), agentId)
}

function LimitFields({
  draft,
  set,
  at,
}: {
  draft: AutomationDraft
  set: (change: Partial<AutomationDraft>) => void
  at: (field: string) => string | null
}) {
  return (
    <details open={at('max_cost_usd') !== null || at('timeout_seconds') !== null}>
      <summary className="w-fit text-sm text-quiet hover:text-ink">Limits and missed runs</summary>
      <div className="mt-3 grid gap-4 sm:grid-cols-2">
        <TextField
          label="Max. cost per run in USD"
          inputMode="decimal"
          placeholder="no cap"
          value={draft.max_cost_usd}
          onValue={(max_cost_usd) => set({ max_cost_usd })}
          error={at('max_cost_usd')}
        />
        <TextField
          label="Max. duration per run in seconds"
          inputMode="numeric"
          value={draft.timeout_seconds}
          onValue={(timeout_seconds) => set({ timeout_seconds })}
          error={at('timeout_seconds')}
        />
        <SelectField
          label="If a run is still active"
          value={draft.overlap}
          onValue={(overlap) => set({ overlap })}
          options={[
            ['skip', 'Skip the new run'],
            ['queue', 'Queue the new run'],
            ['cancel_previous', 'Stop the active run'],
            ['allow', 'Run both'],
          ]}
        />
        {draft.when !== 'webhook' && (
          <SelectField
            label="After server downtime"
            value={draft.catch_up}
            onValue={(catch_up) => set({ catch_up })}
            options={[
              ['latest', 'Run only the last missed run'],
              ['all', 'Run all missed runs'],
              ['none', 'Skip missed runs'],
            ]}
          />
        )}
      </div>
    </details>
  )
}

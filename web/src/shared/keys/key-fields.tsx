import { useQuery } from '@tanstack/react-query'
import { workspacesQuery } from '../session.ts'
import { type ChoiceProps, SelectField, TextField } from '../../ui/field.tsx'
import type { Draft, Expiry } from './key-draft.ts'
import { periods } from '../money/spend-cap.ts'
import { ScopePicker } from './scope-picker.tsx'

const expiries: [Expiry, string][] = [
  ['never', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['date', 'On a date …'],
]

interface Props {
  draft: Draft
  onDraft: (draft: Draft) => void
  at: (field: string) => string | null
  /** Shows fields that can only be set at creation. */
  isNew: boolean
  fixedWorkspace?: boolean
}

export function KeyFields({ draft, onDraft, at, isNew, fixedWorkspace = false }: Props) {
  const set = (change: Partial<Draft>) => onDraft({ ...draft, ...change })
  return (
    <div className="space-y-5">
      <TextField
        label="Name"
        value={draft.name}
        onValue={(name) => set({ name })}
        error={at('name')}
        maxLength={120}
        autoComplete="off"
        hint="Where it will be used, such as “Laptop, Claude Code”."
      />
      <ScopePicker
        preset={draft.preset}
        picked={draft.scopes}
        onChange={(preset, scopes) => set({ preset, scopes })}
        error={at('scopes')}
      />
      <CapFields draft={draft} onDraft={onDraft} at={at} />
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Expires"
          value={draft.expiry}
          onValue={(expiry) => set({ expiry })}
          options={expiries}
          error={draft.expiry === 'date' ? null : at('expires_at')}
        />
        {draft.expiry === 'date' && (
          <TextField
            label="Last day"
            type="date"
            value={draft.day}
            onValue={(day) => set({ day })}
            error={at('expires_at')}
          />
        )}
        {isNew && !fixedWorkspace && (
          <WorkspaceField
            value={draft.workspace}
            onValue={(workspace) => set({ workspace })}
            error={at('workspace_id')}
          />
        )}
      </div>
      {isNew && (
        <details>
          <summary className="w-fit text-sm text-quiet hover:text-ink">API version</summary>
          <TextField
            className="mt-2 max-w-xs"
            label="Pinned version"
            optional
            mono
            placeholder="latest"
            value={draft.version}
            onValue={(version) => set({ version })}
            error={at('version')}
            hint="Calls with this key keep using this dated API version."
          />
        </details>
      )}
    </div>
  )
}

export function CapFields({ draft, onDraft, at }: Pick<Props, 'draft' | 'onDraft' | 'at'>) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_9rem] gap-4">
      <TextField
        label="Spend cap in USD"
        inputMode="decimal"
        placeholder="no cap"
        className="min-w-0"
        value={draft.cap}
        onValue={(cap) => onDraft({ ...draft, cap })}
        error={at('spend_cap_usd')}
        hint="Calls that could exceed the cap are rejected before they are sent."
      />
      <SelectField
        label="Per"
        value={draft.period}
        onValue={(period) => onDraft({ ...draft, period })}
        options={periods}
        error={at('spend_cap_period')}
        disabled={draft.cap.trim() === ''}
      />
    </div>
  )
}

function WorkspaceField(field: ChoiceProps) {
  const { data = [] } = useQuery(workspacesQuery)
  return (
    <SelectField
      label="Access to"
      {...field}
      options={[['', 'All my workspaces'], ...data.map(({ id, name }) => [id, `Only ${name}`] as const)]}
    />
  )
}

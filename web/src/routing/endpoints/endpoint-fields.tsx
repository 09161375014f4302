import { useQuery } from '@tanstack/react-query'
import type { Endpoint } from '../../shared/api.ts'
import { useAccount, workspacesQuery } from '../../shared/session.ts'
import { type ChoiceProps, CheckField, Field, SelectField, TextField } from '../../ui/field.tsx'
import type { Draft, YesNo } from './endpoint-draft.ts'
import { ModelsField } from './models-field.tsx'
import { mediaShapes, shapes } from '../../shared/providers/words.ts'

const known = [
  ['', 'Unknown'],
  ['no', 'No'],
  ['yes', 'Yes'],
] as const satisfies readonly (readonly [YesNo, string])[]

interface Props {
  draft: Draft
  onDraft: (draft: Draft) => void
  at: (field: string) => string | null
  before: Endpoint | null
  needsKey: boolean | null
}

export function EndpointFields({ draft, onDraft, at, before, needsKey }: Props) {
  const set = (change: Partial<Draft>) => onDraft({ ...draft, ...change })
  const own = draft.preset === ''
  return (
    <div className="space-y-5">
      <KeyField draft={draft} set={set} error={at('api_key')} before={before} needsKey={needsKey} />
      <TextField
        label="Base URL"
        mono
        type="url"
        spellCheck={false}
        autoComplete="off"
        value={draft.base_url}
        onValue={(base_url) => set({ base_url })}
        error={at('base_url')}
        placeholder="https://api.example.com/v1"
        hint={
          before
            ? 'If you change the host, enter the key again. A stored key is only sent to its original host.'
            : own
              ? 'Include the version for OpenAI formats (…/v1) and Gemini (…/v1beta). Leave it out for Anthropic and Ollama.'
              : undefined
        }
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => set({ name })}
          error={at('name')}
          autoComplete="off"
        />
        <TextField
          label="Slug"
          mono
          spellCheck={false}
          autoComplete="off"
          value={draft.slug}
          onValue={(slug) => set({ slug })}
          error={at('slug')}
          hint={`Model IDs start with ${draft.slug.trim() || 'slug'}/…`}
        />
        {own && (
          <SelectField
            label="API format"
            value={draft.shape}
            onValue={(shape) => set({ shape })}
            options={[...shapes, ...mediaShapes]}
            error={at('shape')}
          />
        )}
        {!before && (
          <OwnerField
            value={draft.owner}
            onValue={(owner) => set({ owner })}
            error={at('workspace_id') ?? at('instance')}
          />
        )}
      </div>
      <details
        open={draft.models.length > 0 || at('models') !== null || at('headers') !== null || at('weight') !== null}
      >
        <summary className="w-fit text-sm text-quiet hover:text-ink">Models, weight, data policy and headers</summary>
        <div className="mt-3 space-y-5 border-l-2 border-line pl-4">
          <ModelsField models={draft.models} onModels={(models) => set({ models })} error={at('models')} />
          <TextField
            label="Weight"
            className="max-w-40"
            inputMode="decimal"
            value={draft.weight}
            onValue={(weight) => set({ weight })}
            error={at('weight')}
            hint="The traffic share among providers of equal priority."
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <SelectField
              label="Retains prompts"
              value={draft.keeps}
              onValue={(keeps) => set({ keeps })}
              options={known}
              error={at('data_policy')}
              hint="Requests that require zero data retention only use providers set to No."
            />
            <SelectField
              label="Trains on prompts"
              value={draft.trains}
              onValue={(trains) => set({ trains })}
              options={known}
              hint="Requests that deny data collection only use providers set to No."
            />
          </div>
          <HeadersField draft={draft} set={set} error={at('headers')} before={before} />
        </div>
      </details>
    </div>
  )
}

interface PartProps {
  draft: Draft
  set: (change: Partial<Draft>) => void
  error: string | null
  before: Endpoint | null
}

function KeyField({ draft, set, error, before, needsKey }: PartProps & { needsKey: boolean | null }) {
  const hasKey = before?.has_api_key === true
  return (
    <div className="space-y-2">
      <TextField
        label="API key"
        optional={needsKey !== true}
        type="password"
        mono
        // Keeps password managers from filling the field.
        autoComplete="off"
        data-1p-ignore
        spellCheck={false}
        disabled={draft.dropKey}
        value={draft.api_key}
        onValue={(api_key) => set({ api_key })}
        error={error}
        placeholder={hasKey ? `stored key …${before.api_key_last4 ?? ''}` : ''}
        hint={
          hasKey
            ? 'Leave empty to keep the stored key.'
            : 'Stored encrypted and sent only to this address. It can’t be shown again.'
        }
      />
      {hasKey && (
        <CheckField label="Remove stored key" checked={draft.dropKey} onChecked={(dropKey) => set({ dropKey })} />
      )}
    </div>
  )
}

function HeadersField({ draft, set, error, before }: PartProps) {
  const names = before?.header_names ?? []
  return (
    <div className="space-y-2">
      <Field
        label="Headers"
        optional
        error={error}
        hint={
          names.length > 0
            ? `Current headers: ${names.join(', ')}. New headers replace all of them.`
            : 'Sent with every call. One “Name: value” per line.'
        }
      >
        {(control) => (
          <textarea
            {...control}
            rows={2}
            spellCheck={false}
            disabled={draft.dropHeaders}
            className="field font-mono text-sm"
            value={draft.headers}
            onChange={({ target }) => set({ headers: target.value })}
          />
        )}
      </Field>
      {names.length > 0 && (
        <CheckField
          label="Remove all headers"
          checked={draft.dropHeaders}
          onChecked={(dropHeaders) => set({ dropHeaders })}
        />
      )}
    </div>
  )
}

function OwnerField(field: ChoiceProps) {
  const { administrator } = useAccount()
  const { data = [] } = useQuery(workspacesQuery)
  const teams = data.filter(({ kind, role }) => kind === 'team' && (role === 'admin' || role === 'owner'))
  return (
    <SelectField
      label="Available to"
      {...field}
      options={[
        ['mine', 'Only me'],
        ...teams.map(({ id, name }) => [id, `Everyone in ${name}`] as const),
        ...(administrator ? [['instance', 'Everyone on this instance, with credits'] as const] : []),
      ]}
    />
  )
}

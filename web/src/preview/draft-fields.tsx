import { useQuery } from '@tanstack/react-query'
import { workspacesQuery } from '../shared/session.ts'
import { shapes } from '../shared/providers/words.ts'
import { Button } from '../ui/button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { ModelField } from '../shared/models/model-field.tsx'
import { type RequestDraft, newSeed } from './draft.ts'

interface Props {
  draft: RequestDraft
  onDraft: (draft: RequestDraft) => void
  at: (field: string) => string | null
}

export function DraftFields({ draft, onDraft, at }: Props) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const set = (change: Partial<RequestDraft>) => onDraft({ ...draft, ...change })
  return (
    <div className="space-y-5">
      <ModelField value={draft.model} onValue={(model) => set({ model })} error={at('model')} />
      <div className="grid grid-cols-2 gap-4">
        <TextField
          label="Input tokens"
          inputMode="numeric"
          placeholder="unknown"
          value={draft.input_tokens}
          onValue={(input_tokens) => set({ input_tokens })}
          error={at('input_tokens')}
        />
        <TextField
          label="Max. output tokens"
          inputMode="numeric"
          placeholder="model limit"
          value={draft.max_tokens}
          onValue={(max_tokens) => set({ max_tokens })}
          error={at('max_tokens')}
        />
      </div>
      {workspaces.length > 1 && (
        <SelectField
          label="Workspace"
          hint="Its spend caps and rules apply."
          value={draft.workspace}
          onValue={(workspace) => set({ workspace })}
          options={[
            ['', 'Personal workspace'],
            ...workspaces.filter(({ kind }) => kind === 'team').map(({ id, name }) => [id, name] as const),
          ]}
          error={at('workspace_id')}
        />
      )}
      <div className="flex flex-wrap gap-x-6 gap-y-2">
        <CheckField label="Uses tools" checked={draft.tools} onChecked={(tools) => set({ tools })} />
        <CheckField label="Includes images" checked={draft.images} onChecked={(images) => set({ images })} />
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-2">
        <TextField
          label="Seed"
          mono
          inputMode="numeric"
          placeholder="random"
          value={draft.seed}
          onValue={(seed) => set({ seed })}
          error={at('seed')}
        />
        <Button className="mt-6 h-[2.375rem]!" onClick={() => set({ seed: newSeed() })}>
          Reroll seed
        </Button>
      </div>
      <details>
        <summary className="w-fit text-sm text-quiet hover:text-ink">Routing options</summary>
        <Preferences draft={draft} set={set} at={at} />
      </details>
    </div>
  )
}

/** The options that OpenRouter-compatible clients send in `provider` and `models`, and the API format. */
function Preferences({
  draft,
  set,
  at,
}: {
  draft: RequestDraft
  set: (change: Partial<RequestDraft>) => void
  at: Props['at']
}) {
  return (
    <div className="mt-3 space-y-4 border-l-2 border-line pl-4">
      <SelectField
        label="API format"
        value={draft.shape}
        onValue={(shape) => set({ shape })}
        options={shapes}
        error={at('shape')}
      />
      <SelectField
        label="Sort by"
        value={draft.sort}
        onValue={(sort) => set({ sort })}
        options={[
          ['', 'server default'],
          ['price', 'price'],
          ['throughput', 'throughput'],
          ['latency', 'latency'],
        ]}
        error={at('provider.sort')}
      />
      <TextField
        label="Fallback models"
        mono
        value={draft.models}
        onValue={(models) => set({ models })}
        error={at('models')}
      />
      <TextField
        label="Allowed providers"
        mono
        value={draft.only}
        onValue={(only) => set({ only })}
        error={at('provider.only')}
      />
      <TextField
        label="Ignored providers"
        mono
        value={draft.ignore}
        onValue={(ignore) => set({ ignore })}
        error={at('provider.ignore')}
      />
      <div className="grid grid-cols-2 gap-4">
        <TextField
          label="Max. input price"
          inputMode="decimal"
          placeholder="USD / million"
          value={draft.max_input_price}
          onValue={(max_input_price) => set({ max_input_price })}
          error={at('provider.max_price')}
        />
        <TextField
          label="Max. output price"
          inputMode="decimal"
          placeholder="USD / million"
          value={draft.max_output_price}
          onValue={(max_output_price) => set({ max_output_price })}
        />
      </div>
      <CheckField
        label="Only providers that don’t train on requests"
        checked={draft.private}
        onChecked={(on) => set({ private: on })}
      />
    </div>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Endpoint, uk } from '../../api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { useSend } from '../../ui/send.ts'
import { say } from '../../ui/dialogs/toast.tsx'
import { changesIn, draftOf, endpointIn, newDraft } from './endpoint-draft.ts'
import { EndpointFields } from './endpoint-fields.tsx'
import { PresetField } from './preset-field.tsx'
import { presetsQuery, refreshRouting } from '../queries.ts'

const FIELDS = [
  'name',
  'slug',
  'shape',
  'base_url',
  'api_key',
  'headers',
  'models',
  'weight',
  'data_policy',
  'workspace_id',
  'instance',
]

/** Adds a provider, or changes `before`; either way the server asks it at once whether it works. */
export function EndpointDialog({
  before,
  open,
  onOpen,
}: {
  before: Endpoint | null
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const { data: presets = [] } = useQuery(presetsQuery)
  const [draft, setDraft] = useState(() => (before ? draftOf(before) : newDraft(null)))
  const [chosen, setChosen] = useState(before !== null)
  // The list of presets may come after the dialog; the first of them is where most begin.
  if (!chosen && presets.length > 0) {
    setDraft(newDraft(presets[0]!))
    setChosen(true)
  }
  const preset = presets.find(({ slug }) => slug === draft.preset) ?? null
  const sending = useSend(
    () =>
      before ? uk.ai_gateway.update({ id: before.id, ...changesIn(draft) }) : uk.ai_gateway.create(endpointIn(draft)),
    async (endpoint) => {
      onOpen(false)
      await refreshRouting()
      say(`${endpoint.name} is ${before ? 'changed' : 'added'}`)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      wide
      title={before ? `Change ${before.name}` : 'Add a provider'}
      about={
        before ? 'Holds from the next call on.' : 'Calls that it can answer go to it first, on your key and your bill.'
      }
      sending={sending}
      fields={FIELDS}
      verb={before ? 'Save' : 'Add provider'}
      onSend={() => void sending.send(undefined)}
    >
      {!before && (
        <PresetField
          presets={presets}
          value={draft.preset}
          onPreset={(next) => setDraft({ ...newDraft(next), api_key: draft.api_key, owner: draft.owner })}
        />
      )}
      <EndpointFields
        draft={draft}
        onDraft={setDraft}
        at={sending.at}
        before={before}
        needsKey={preset?.needs_key ?? null}
      />
    </FormDialog>
  )
}

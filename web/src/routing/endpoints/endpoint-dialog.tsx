import { useQuery } from '@tanstack/react-query'
import { type Endpoint, uk } from '../../shared/api.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { say } from '../../ui/toast/toast.tsx'
import { forgetDraft, useDraft } from '../../ui/typing/draft.ts'
import { changesIn, draftOf, endpointIn, newDraft } from './endpoint-draft.ts'
import { EndpointFields } from './endpoint-fields.tsx'
import { PresetField } from '../../shared/providers/preset-field.tsx'
import { presetsQuery, refreshRouting } from '../../shared/providers/queries.ts'

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

const NEW = 'new provider'

/** Adds or edits a provider. The server tests it at once. */
export function EndpointDialog({
  before,
  open,
  onOpen,
  onDone,
}: {
  before: Endpoint | null
  open: boolean
  onOpen: (open: boolean) => void
  onDone?: () => void
}) {
  const { data: presets = [] } = useQuery(presetsQuery)
  const [typed, setDraft] = useDraft(
    before ? `provider ${before.id}` : NEW,
    () => (before ? draftOf(before) : null),
    (draft) => draft === null || before !== null,
  )
  // The first preset is the default, even if the list loads late. Once a field has changed, the draft is kept.
  const draft = typed ?? newDraft(presets[0] ?? null)
  const preset = presets.find(({ slug }) => slug === draft.preset) ?? null
  const sending = useSend(
    () =>
      before ? uk.ai_gateway.update({ id: before.id, ...changesIn(draft) }) : uk.ai_gateway.create(endpointIn(draft)),
    async (endpoint) => {
      forgetDraft(NEW)
      onOpen(false)
      onDone?.()
      await refreshRouting()
      say(`${before ? 'Saved changes to' : 'Added'} ${endpoint.name}`)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      wide
      keeps={before === null}
      title={before ? `Edit provider ${before.name}` : 'Add provider'}
      about={
        before
          ? 'Changes apply from the next call.'
          : 'Calls to its models use your key first, and the provider bills you.'
      }
      sending={sending}
      fields={FIELDS}
      verb={before ? 'Save provider' : 'Add provider'}
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

import { type Workspace, queryClient, uk } from '../shared/api.ts'
import { isManaged } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { useChanged } from '../ui/typing/changed.ts'
import { say } from '../ui/toast/toast.tsx'
import { UnsavedWords } from '../ui/dialogs/unsaved.tsx'
import { CheckField } from '../ui/field.tsx'
import { Refused } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { ModelsField } from './models-field.tsx'
import { modelsIn } from './models-in.ts'

export function Rules({ workspace }: { workspace: Workspace }) {
  const { allowed_models, keys } = workspace
  return (
    <Section title="Allowed models" about="Applies to every member, in addition to the limits of each member and key.">
      <div className="border border-line border-t-keyline bg-sheet px-4 py-4">
        {isManaged(workspace) ? (
          <RulesForm workspace={workspace} />
        ) : (
          <>
            <p>{allowed_models === null ? 'All models.' : allowed_models.join(', ') || 'No models.'}</p>
            {keys === 'workspace' && <p>Only with API keys of this workspace.</p>}
            <p className="mt-2 text-[0.8125rem] text-quiet">Admins can change this.</p>
          </>
        )}
      </div>
    </Section>
  )
}

function RulesForm({ workspace: { id, name, allowed_models, keys } }: { workspace: Workspace }) {
  const [models, setModels, adoptModels] = useChanged(allowed_models?.join(', ') ?? '')
  const [held, setHeld, adoptHeld] = useChanged(keys === 'workspace')
  const { send, pending, at, rest, form } = useSend(uk.workspaces.update, async () => {
    await queryClient.invalidateQueries({ queryKey: ['workspaces'] })
    adoptModels()
    adoptHeld()
    say(`Saved the allowed models of ${name}`)
  })
  return (
    <form
      ref={form}
      noValidate
      className="max-w-xl"
      onSubmit={(event) => {
        event.preventDefault()
        void send({ id, allowed_models: modelsIn(models), keys: held ? 'workspace' : 'any' })
      }}
    >
      <ModelsField label="Allowed models" value={models} onValue={setModels} error={at('allowed_models')} />
      <CheckField
        label="Require a key of this workspace"
        hint="If on, chats and other keys can’t call models."
        checked={held}
        onChecked={setHeld}
      />
      <Button type="submit" pending={pending} className="mt-4">
        Save allowed models
      </Button>
      <div className="mt-2">
        <Refused>{rest('allowed_models', 'keys')}</Refused>
      </div>
      <UnsavedWords box={form} />
    </form>
  )
}

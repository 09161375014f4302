import { useState } from 'react'
import { uk } from '../api.ts'
import { type Period, capOf, periods } from '../developer/keys/key-draft.ts'
import { useAccount } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { useSend } from '../ui/send.ts'
import { ModelsField } from './models-field.tsx'
import { modelsIn } from './models-in.ts'
import { type Member, refreshTeam } from './queries.ts'

const roles = [
  ['viewer', 'Viewer: reads'],
  ['member', 'Member: writes and runs'],
  ['admin', 'Admin: manages people, keys and budgets'],
] as const
type Role = Member['role']

/** What a member is, and may spend and call in the workspace; and the end of it. */
export function MemberDialog({
  member,
  open,
  onOpen,
  onRemove,
}: {
  member: Member
  onRemove: () => void
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [cap, setCap] = useState(member.spend_cap_usd === null ? '' : String(member.spend_cap_usd))
  const [period, setPeriod] = useState<Period>(member.spend_cap_period)
  const [models, setModels] = useState(member.allowed_models?.join(', ') ?? '')
  const [role, setRole] = useState<Role>(member.role)
  const { id: own } = useAccount()
  const [held, setHeld] = useState(member.keys === 'workspace')
  const sending = useSend(uk.members.update, async () => {
    await refreshTeam(member.workspace_id)
    say(`What ${member.name} may is changed`)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Change ${member.name}`}
      about="It holds from the next call on. What was spent in the period counts."
      sending={sending}
      fields={['role', 'spend_cap_usd', 'spend_cap_period', 'allowed_models', 'keys']}
      verb="Save"
      onSend={() =>
        void sending.send({
          id: member.workspace_id,
          memberId: member.id,
          ...(role !== member.role && { role }),
          spend_cap_usd: capOf(cap),
          spend_cap_period: period,
          allowed_models: modelsIn(models),
          keys: held ? 'workspace' : 'any',
        })
      }
    >
      {member.role !== 'owner' && (
        <SelectField label="Role" value={role} onValue={setRole} options={roles} error={sending.at('role')} />
      )}
      <div className="grid grid-cols-[minmax(0,1fr)_9rem] gap-4">
        <TextField
          label="Budget in USD"
          inputMode="decimal"
          placeholder="no budget"
          value={cap}
          onValue={setCap}
          error={sending.at('spend_cap_usd')}
        />
        <SelectField
          label="Per"
          value={period}
          onValue={setPeriod}
          options={periods}
          error={sending.at('spend_cap_period')}
        />
      </div>
      <ModelsField label="Models" value={models} onValue={setModels} error={sending.at('allowed_models')} />
      <CheckField
        label="Only by keys of this workspace"
        hint="Chats here and other keys call no models then."
        checked={held}
        onChecked={setHeld}
      />
      {member.user_id !== own && (
        <Button look="danger-plain" onClick={onRemove}>
          Remove {member.name} from the workspace
        </Button>
      )}
    </FormDialog>
  )
}

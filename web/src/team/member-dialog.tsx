import { useState } from 'react'
import { uk } from '../shared/api.ts'
import { type Period, capOf, periods } from '../shared/money/spend-cap.ts'
import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { ModelsField } from './models-field.tsx'
import { modelsIn } from './models-in.ts'
import { type Member, refreshTeam } from './queries.ts'

const roles = [
  ['viewer', 'Viewer: can read'],
  ['member', 'Member: can create, edit and run'],
  ['admin', 'Admin: can manage members, keys and spend caps'],
] as const
type Role = Member['role']

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
    say(`Saved changes to ${member.name}`)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Edit member ${member.name}`}
      about="Changes apply from the next call. Earlier spending in the period counts."
      sending={sending}
      fields={['role', 'spend_cap_usd', 'spend_cap_period', 'allowed_models', 'keys']}
      verb="Save member"
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
          label="Spend cap in USD"
          inputMode="decimal"
          placeholder="no cap"
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
        label="Require a key of this workspace"
        hint="If on, chats and other keys can’t call models."
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

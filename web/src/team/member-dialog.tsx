import { useState } from 'react'
import { uk } from '../api.ts'
import { type Period, capOf, periods } from '../developer/keys/key-draft.ts'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { useSend } from '../ui/send.ts'
import { modelsIn } from './models-in.ts'
import { type Member, refreshTeam } from './queries.ts'

/** What a member may spend and call in the workspace. */
export function MemberDialog({
  member,
  open,
  onOpen,
}: {
  member: Member
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [cap, setCap] = useState(member.spend_cap_usd === null ? '' : String(member.spend_cap_usd))
  const [period, setPeriod] = useState<Period>(member.spend_cap_period)
  const [models, setModels] = useState(member.allowed_models?.join(', ') ?? '')
  const [held, setHeld] = useState(member.keys === 'workspace')
  const sending = useSend(uk.members.update, async () => {
    await refreshTeam(member.workspace_id)
    say(`The limits of ${member.name} are set`)
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Limits of ${member.name}`}
      about="They hold from the next call on. What was spent in the period counts."
      sending={sending}
      fields={['spend_cap_usd', 'spend_cap_period', 'allowed_models', 'keys']}
      verb="Save"
      onSend={() =>
        void sending.send({
          id: member.workspace_id,
          memberId: member.id,
          spend_cap_usd: capOf(cap),
          spend_cap_period: period,
          allowed_models: modelsIn(models),
          keys: held ? 'workspace' : 'any',
        })
      }
    >
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
      <TextField
        label="Models"
        mono
        placeholder="all"
        hint={
          <>
            Ids as <code>openai/gpt-4o</code>, or all of a provider as <code>openai/*</code>, between commas.
          </>
        }
        value={models}
        onValue={setModels}
        error={sending.at('allowed_models')}
      />
      <CheckField
        label="Only by keys of this workspace"
        hint="Chats here and other keys call no models then."
        checked={held}
        onChecked={setHeld}
      />
    </FormDialog>
  )
}

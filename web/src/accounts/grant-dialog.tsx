import { useState } from 'react'
import { uk } from '../shared/api.ts'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { usd } from '../ui/text/format.ts'
import { typedNumber } from '../ui/text/typed-number.ts'
import type { CreditRequest } from './queries.ts'
import { refreshMoney } from '../shared/money/credits.ts'

export interface Granting {
  account_id: string
  name: string
  request?: CreditRequest
}

export function GrantDialog({
  granting: { account_id, name, request },
  open,
  onOpen,
}: {
  granting: Granting
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const [amount, setAmount] = useState(request?.amount_usd == null ? '' : String(request.amount_usd))
  const [note, setNote] = useState('')
  const sending = useSend(
    async (given: { amount_usd: number; note: string }) => {
      if (request) await uk.admin.grant_request({ id: request.id, ...given })
      else await uk.admin.credits({ id: account_id, ...given })
    },
    async (_, { amount_usd }) => {
      await refreshMoney()
      say(`Granted ${usd(amount_usd)} to ${name}`)
      onOpen(false)
    },
  )
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title={`Grant credits to ${name}`}
      about="Credits pay for calls to this instance’s providers."
      sending={sending}
      fields={['amount_usd', 'note']}
      verb="Grant credits"
      onSend={() => void sending.send({ amount_usd: typedNumber(amount), note })}
    >
      <TextField
        label="Amount in USD"
        inputMode="decimal"
        value={amount}
        onValue={setAmount}
        error={sending.at('amount_usd')}
      />
      <TextField
        label="Note"
        optional
        value={note}
        onValue={setNote}
        error={sending.at('note')}
        {...(request && { hint: 'Sent to the user with your decision.' })}
      />
    </FormDialog>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { uk } from '../shared/api.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { say } from '../ui/toast/toast.tsx'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/calls/send.ts'
import { usd } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'
import { typedNumber } from '../ui/text/typed-number.ts'
import { balanceQuery } from './queries.ts'
import { ownRequestsQuery, refreshMoney } from '../shared/money/credits.ts'

/** The remaining credits, and a way to request more. Renders nothing for accounts without a balance. */
export function Credits() {
  const { data: balance } = useQuery(balanceQuery)
  const { data: [last] = [] } = useQuery(ownRequestsQuery)
  const [open, setOpen] = useState(false)
  if (balance === undefined || balance === null) return null
  return (
    <div className="mb-6 flex flex-wrap items-center gap-x-6 gap-y-2 border border-line bg-sheet px-4 py-3">
      <p className="min-w-0 flex-1 basis-60 text-sm">
        <span className="font-medium">{usd(balance)} credits left.</span>{' '}
        <span className="text-quiet">
          {last?.status === 'pending' ? (
            <>
              You requested credits <Ago time={last.created_at} />.
            </>
          ) : last?.status === 'refused' && balance <= 0 ? (
            `Your last request was declined${last.answer ? `: ${last.answer}` : '.'}`
          ) : (
            'Credits pay for calls to this instance’s providers. Calls with your own keys don’t use credits.'
          )}
        </span>
      </p>
      {last?.status !== 'pending' && <Button onClick={() => setOpen(true)}>Request credits</Button>}
      <Ask open={open} onOpen={setOpen} />
    </div>
  )
}

function Ask({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  const sending = useSend(uk.me.request_credits, async () => {
    await refreshMoney()
    say('Request sent to the administrator')
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Request credits"
      about="The administrator reviews your request, and you get a notification."
      sending={sending}
      fields={['amount_usd', 'note']}
      verb="Request credits"
      onSend={() => void sending.send({ amount_usd: amount.trim() === '' ? null : typedNumber(amount), note })}
    >
      <TextField
        label="Amount in USD"
        optional
        inputMode="decimal"
        value={amount}
        onValue={setAmount}
        error={sending.at('amount_usd')}
      />
      <TextField label="Reason" optional value={note} onValue={setNote} error={sending.at('note')} />
    </FormDialog>
  )
}

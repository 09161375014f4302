import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { uk } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialogs/form-dialog.tsx'
import { say } from '../ui/dialogs/toast.tsx'
import { TextField } from '../ui/field.tsx'
import { useSend } from '../ui/send.ts'
import { usd } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'
import { typedNumber } from '../ui/text/typed-number.ts'
import { balanceQuery } from './queries.ts'
import { ownRequestsQuery, refreshMoney } from '../accounts/queries.ts'

/** What somebody has left, and the way to ask for more. Nothing where calls draw on no balance. */
export function Credits() {
  const { data: balance } = useQuery(balanceQuery)
  const { data: [last] = [] } = useQuery(ownRequestsQuery)
  const [open, setOpen] = useState(false)
  if (balance === undefined || balance === null) return null
  return (
    <div className="mb-6 flex flex-wrap items-center gap-x-6 gap-y-2 border border-line bg-sheet px-4 py-3">
      <p className="min-w-0 flex-1 basis-60 text-sm">
        <span className="font-medium">{usd(balance)} of credits left.</span>{' '}
        <span className="text-quiet">
          {last?.status === 'pending' ? (
            <>
              You asked for more <Ago time={last.created_at} />.
            </>
          ) : last?.status === 'refused' && balance <= 0 ? (
            `Your last request was refused${last.answer ? `: ${last.answer}` : '.'}`
          ) : (
            'They pay calls on the providers of this instance; on your own keys none are needed.'
          )}
        </span>
      </p>
      {last?.status !== 'pending' && <Button onClick={() => setOpen(true)}>Ask for credits</Button>}
      <Ask open={open} onOpen={setOpen} />
    </div>
  )
}

function Ask({ open, onOpen }: { open: boolean; onOpen: (open: boolean) => void }) {
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  const sending = useSend(uk.me.request_credits, async () => {
    await refreshMoney()
    say('The administrator is told')
    onOpen(false)
  })
  return (
    <FormDialog
      open={open}
      onOpen={onOpen}
      title="Ask for credits"
      about="The administrator of this instance is told, and you hear of the answer."
      sending={sending}
      fields={['amount_usd', 'note']}
      verb="Ask"
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
      <TextField label="What for" optional value={note} onValue={setNote} error={sending.at('note')} />
    </FormDialog>
  )
}

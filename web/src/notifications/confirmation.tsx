import { useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { SectionForm } from '../ui/dialogs/section-form.tsx'
import { useSend } from '../ui/calls/send.ts'
import { say } from '../ui/toast/toast.tsx'
import { TokenField } from '../shared/invitations/token-field.tsx'

/** Email notifications go only to verified addresses. */
export function Confirmation() {
  const { email, email_verified_at } = useAccount()
  const [token, setToken] = useState('')
  const ask = useSend(uk.notifications.request_email, () => say(`Confirmation email sent to ${email}`))
  const confirm = useSend(uk.notifications.confirm_email, async () => {
    say(`${email} verified`)
    await queryClient.invalidateQueries({ queryKey: ['session'] })
  })
  if (email_verified_at !== null) return null
  return (
    <Section
      title="Verify your email address"
      about={`You won’t get email notifications until ${email} is verified, whatever you select below.`}
      action={
        <Button icon="mail" pending={ask.pending} onClick={() => void ask.send({})}>
          Send confirmation email
        </Button>
      }
    >
      <div className="mb-3 empty:hidden">
        <Refused>{ask.rest()}</Refused>
      </div>
      <SectionForm sending={confirm} onSend={() => void confirm.send({ token: token.trim() })}>
        <div className="flex flex-wrap items-start gap-4">
          <TokenField
            value={token}
            onValue={setToken}
            error={confirm.at('token')}
            hint="From the confirmation email."
          />
          <Button type="submit" pending={confirm.pending} className="h-[2.375rem]! sm:mt-6">
            Verify address
          </Button>
        </div>
        <Refused>{confirm.rest('token')}</Refused>
      </SectionForm>
    </Section>
  )
}

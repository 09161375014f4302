import { useState } from 'react'
import { queryClient, uk } from '../shared/api.ts'
import { useAccount } from '../shared/session.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Refused } from '../ui/notice.tsx'
import { Section } from '../ui/page.tsx'
import { SectionForm } from '../ui/dialogs/section-form.tsx'
import { useSend } from '../ui/calls/send.ts'
import { say } from '../ui/toast/toast.tsx'

export function Password() {
  const { email } = useAccount()
  const [current_password, setCurrent] = useState('')
  const [new_password, setNew] = useState('')
  const changing = useSend(uk.auth.change_password, async () => {
    setCurrent('')
    setNew('')
    say('Password changed. All other sessions have ended.')
    await queryClient.invalidateQueries({ queryKey: ['sessions'] })
  })
  const { send, pending, at, rest, code } = changing
  // The error is about the current password, even if it names another field.
  const wrong = code === 'invalid_credentials' ? 'Your current password is wrong.' : null
  return (
    <Section title="Password" about="Changing your password ends all other sessions. API keys keep working.">
      <SectionForm
        sending={changing}
        onSend={() => void send({ ...(current_password !== '' && { current_password }), new_password })}
      >
        <input type="text" autoComplete="username" value={email} readOnly hidden />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Current password"
            type="password"
            autoComplete="current-password"
            value={current_password}
            onValue={setCurrent}
            error={wrong ?? at('current_password')}
          />
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            hint="At least 8 characters."
            value={new_password}
            onValue={setNew}
            error={at('new_password')}
          />
        </div>
        <div className="mt-4 space-y-3">
          <Refused>{wrong ? null : rest('current_password', 'new_password')}</Refused>
          <Button type="submit" pending={pending}>
            Change password
          </Button>
        </div>
      </SectionForm>
    </Section>
  )
}

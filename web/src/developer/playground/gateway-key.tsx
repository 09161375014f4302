import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { refreshKeys } from '../../shared/keys/keys.ts'

const HOUR_MS = 3_600_000

/** The gateways accept only API keys. The trial key expires after an hour and exists only in this form. */
export function GatewayKey({ value, onValue }: { value: string; onValue: (key: string) => void }) {
  const { send, pending, rest } = useSend(
    () =>
      uk.api_keys.create({
        name: 'Playground',
        scopes: ['gateway:run', 'model:read'],
        expires_at: new Date(Date.now() + HOUR_MS).toISOString(),
      }),
    async ({ key }) => {
      onValue(key)
      await refreshKeys()
    },
  )
  return (
    <div>
      <div className="flex flex-wrap items-end gap-3">
        <TextField
          label="API key"
          type="password"
          mono
          autoComplete="off"
          className="min-w-0 flex-1 basis-60"
          value={value}
          onValue={onValue}
          placeholder="uk_…"
        />
        <Button className="h-[2.375rem]!" pending={pending} onClick={() => void send(undefined)}>
          Create 1-hour key
        </Button>
      </div>
      <p className="mt-1 text-[0.8125rem] text-quiet">
        Gateways accept only API keys. This one is kept only in this form.
      </p>
      <Refused>{rest()}</Refused>
    </div>
  )
}

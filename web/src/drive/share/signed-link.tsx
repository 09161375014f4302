import { useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { CheckField, SelectField } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { moment } from '../../ui/text/format.ts'
import type { DriveFile } from '../../shared/drive/files.ts'

const times = [
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '1 week'],
] as const

export function SignedLink({ file }: { file: DriveFile }) {
  const [seconds, setSeconds] = useState<(typeof times)[number][0]>('86400')
  const [once, setOnce] = useState(false)
  const [made, setMade] = useState<{ url: string; expires_at: string } | null>(null)
  const { send, pending, rest } = useSend(uk.drive.signed_url, setMade)
  return (
    <section className="border-t border-line pt-4">
      <h3 className="text-sm font-medium">Public link</h3>
      <p className="mb-3 text-[0.8125rem] text-quiet">
        Anyone with the link can open the file without signing in, until the link expires or the file is moved to trash.
      </p>
      <div className="flex flex-wrap items-end gap-3">
        <SelectField label="Expires in" value={seconds} onValue={setSeconds} options={times} />
        <Button
          pending={pending}
          className="h-[2.375rem]!"
          onClick={() => void send({ id: file.id, expires_in_seconds: Number(seconds), single_use: once })}
        >
          Create link
        </Button>
        <div className="pb-2">
          <CheckField label="Single use" checked={once} onChecked={setOnce} />
        </div>
      </div>
      <Refused>{rest()}</Refused>
      {made && (
        <div role="status" className="mt-3 flex flex-wrap items-center gap-2">
          <p className="min-w-0 flex-1 basis-52 truncate border border-line bg-sheet px-2 py-1.5 font-mono text-[0.8125rem] select-all">
            {made.url}
          </p>
          <Copy text={made.url} label="Copy link" />
          <p className="basis-full text-[0.8125rem] text-quiet">Expires {moment(made.expires_at)}.</p>
        </div>
      )}
    </section>
  )
}

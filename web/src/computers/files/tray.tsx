import { Button, IconButton } from '../../ui/button.tsx'
import { size } from '../words.ts'
import { type Upload, again, dismiss, useUploads } from './uploads.ts'

export function Tray({ computerId }: { computerId: string }) {
  const uploads = useUploads().filter((one) => one.computerId === computerId)
  if (uploads.length === 0) return null
  return (
    <ul aria-label="Uploads" className="mb-4 divide-y divide-line border border-line bg-sheet text-sm">
      {uploads.map((one) => (
        <Row key={one.key} upload={one} />
      ))}
    </ul>
  )
}

function Row({ upload: { key, name, path, size: whole, sent, state, why } }: { upload: Upload }) {
  const words = {
    going: `${size(sent)} of ${size(whole)}`,
    done: `there, ${size(whole)}`,
    failed: why,
    exists: why,
  }[state]
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
      <span className="min-w-0 flex-1 basis-40 truncate" title={path}>
        {name}
      </span>
      {state === 'going' && (
        <progress aria-label={`Upload progress of ${name}`} value={sent} max={whole || 1} className="w-32" />
      )}
      <span className={`figures ${state === 'failed' ? 'text-seal' : 'text-quiet'}`}>{words}</span>
      {state === 'exists' && <Button onClick={() => again(key, true)}>Replace file</Button>}
      {state === 'failed' && <Button onClick={() => again(key, false)}>Retry</Button>}
      <IconButton
        label={state === 'going' ? `Cancel upload of ${name}` : `Dismiss ${name}`}
        icon="close"
        onClick={() => dismiss(key)}
      />
    </li>
  )
}

import { Meter } from '@base-ui/react/meter'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { visible } from '../../../ui/text/visible.ts'
import { Button, IconButton } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icons.tsx'
import { bytes } from '../../../ui/text/format.ts'
import type { Entry } from './entry.ts'
import { uploads } from './uploads.ts'

export function UploadRow({ entry }: { entry: Entry }) {
  const { key, name, size, sent, rate, state, into } = entry
  const shown = visible(name)
  const share = size === 0 ? 1 : sent / size
  return (
    <li className="px-3 py-2">
      <div className="flex items-center gap-1">
        <div className="min-w-0 flex-1">
          <p className="truncate text-sm" title={shown}>
            {state.is === 'done' && state.fileId !== null ? (
              <Link to="/drive/file/$id" params={{ id: state.fileId }} className="link">
                {shown}
              </Link>
            ) : (
              shown
            )}
          </p>
          <p className="figures truncate text-[0.8125rem] text-quiet">
            {wordsOf(entry)}
            {state.is === 'going' && rate !== null && ` · ${bytes(rate)}/s`}
            {` · ${visible(into)}`}
          </p>
        </div>
        {state.is === 'done' && <Icon name="check" className="mx-2.5 size-4 text-moss" />}
        {(state.is === 'going' || state.is === 'waiting' || state.is === 'cut') && (
          <IconButton label={`Pause ${shown}`} icon="pause" onClick={() => uploads.pause(key)} />
        )}
        {(state.is === 'paused' || state.is === 'cut' || state.is === 'failed') && (
          <IconButton
            label={`${state.is === 'paused' ? 'Resume' : 'Retry'} ${shown}`}
            icon={state.is === 'paused' ? 'play' : 'again'}
            onClick={() => uploads.resume(key)}
          />
        )}
        {state.is === 'lost' && <Bring entry={entry} />}
        {state.is !== 'done' && (
          <IconButton label={`Cancel upload of ${shown}`} icon="close" onClick={() => void uploads.remove(key)} />
        )}
      </div>
      {state.is !== 'done' && state.is !== 'conflict' && (
        <Meter.Root value={share * 100} aria-label={`Upload progress of ${shown}`} className="mt-1.5">
          <Meter.Track className="block h-1 overflow-hidden rounded-xs bg-sunk forced-color-adjust-none">
            <Meter.Indicator
              className={`block h-full ${state.is === 'failed' ? 'bg-seal' : state.is === 'going' ? 'bg-ai' : 'bg-ochre'}`}
            />
          </Meter.Track>
        </Meter.Root>
      )}
      {state.is === 'conflict' && (
        <div role="group" aria-label={`${shown} already exists`} className="mt-2 flex flex-wrap gap-2">
          <Button onClick={() => uploads.settle(key, 'rename', false)}>Keep both</Button>
          <Button onClick={() => uploads.settle(key, 'version', false)}>Replace as new version</Button>
        </div>
      )}
    </li>
  )
}

function wordsOf({ state, size, sent }: Entry): string {
  switch (state.is) {
    case 'waiting':
      return `Waiting · ${bytes(size)}`
    case 'going':
      return `${bytes(sent)} of ${bytes(size)}`
    case 'paused':
      return `Paused at ${bytes(sent)} of ${bytes(size)}`
    case 'cut':
      return 'Connection lost. Resumes automatically'
    case 'conflict':
      return 'A file with this name already exists'
    case 'failed':
      return state.why
    case 'lost':
      return 'Choose the file again to resume'
    case 'done':
      return bytes(size)
  }
}

/** Asks for the file again, since the browser didn't keep it over the reload. */
function Bring({ entry: { key, name } }: { entry: Entry }) {
  const input = useRef<HTMLInputElement>(null)
  const [wrong, setWrong] = useState(false)
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        onChange={({ target }) => {
          const file = target.files?.[0]
          if (file) setWrong(!uploads.bring(key, file))
        }}
      />
      <Button
        onClick={() => input.current?.click()}
        aria-label={wrong ? `Different file. Choose again: ${name}` : `Choose file ${name}`}
      >
        {wrong ? 'Different file. Choose again' : 'Choose file'}
      </Button>
    </>
  )
}

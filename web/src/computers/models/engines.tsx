import { useQuery } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Failure, Refused, Waiting } from '../../ui/notice.tsx'
import { Rows, Section, Tag, type Tone } from '../../ui/page.tsx'
import { useSend } from '../../ui/calls/send.ts'
import type { Computer } from '../queries.ts'
import { size } from '../words.ts'
import { type Inference, inferenceQuery, refreshModels } from './queries.ts'

type Engine = Inference['engines'][number]
const names = { llama: 'llama.cpp', sherpa: 'sherpa-onnx', ollama: 'Ollama' } as const
const tones: Record<Engine['status'], Tone> = {
  absent: 'plain',
  installing: 'ai',
  stopped: 'plain',
  running: 'good',
  failed: 'bad',
}

export function Engines({ computer: { id } }: { computer: Computer }) {
  const { data, error, refetch } = useQuery(inferenceQuery(id))
  const sending = useSend(uk.computers.local_inference, () => refreshModels(id))
  if (error && !data) return <Failure what="The engines" error={error} again={refetch} />
  if (!data) return <Waiting rows={2} what="the engines" />
  const facts = [
    data.gpu !== null ? `GPU: ${data.gpu}` : 'no GPU in use',
    data.memory_bytes !== null && `${size(data.memory_bytes)} memory used`,
  ].filter(Boolean)
  return (
    <Section title="Engines" about={facts.join(' · ')}>
      <Refused>{sending.rest()}</Refused>
      <Rows label="Engines">
        {data.engines.map(({ name, status, version, reason }) => (
          <li key={name} className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3">
            <div className="min-w-0 flex-1 basis-60">
              <p className="font-medium">
                {names[name]} <span className="font-normal text-quiet">{version}</span>
              </p>
              {reason && <p className="text-[0.8125rem] break-words text-quiet">{reason}</p>}
            </div>
            <Tag tone={tones[status]}>{status}</Tag>
            {status === 'running' && name !== 'ollama' && (
              <Button
                aria-label={`Stop engine ${names[name]}`}
                onClick={() => void sending.send({ id, action: 'stop', engine: name })}
              >
                Stop engine
              </Button>
            )}
            {(status === 'stopped' || status === 'failed' || (status === 'absent' && name !== 'ollama')) && (
              <Button
                aria-label={`${status === 'absent' ? 'Install' : 'Start'} engine ${names[name]}`}
                pending={sending.pending}
                onClick={() => void sending.send({ id, action: 'start', engine: name })}
              >
                {status === 'absent' ? 'Install engine' : 'Start engine'}
              </Button>
            )}
          </li>
        ))}
      </Rows>
    </Section>
  )
}

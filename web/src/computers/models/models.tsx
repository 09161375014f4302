import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { Rows, Section, Tag } from '../../ui/page.tsx'
import { type Computer, probeQuery } from '../queries.ts'
import { Reason } from '../state.tsx'
import { size, standingFor } from '../words.ts'
import { Engines } from './engines.tsx'
import { InstallDialog } from './install-dialog.tsx'
import { Installs } from './installs.tsx'
import { MapDialog } from './map-dialog.tsx'
import { type Model, installsQuery, isGoing, modelsQuery, refreshModels } from './queries.ts'

const engines = { llama: 'llama.cpp', sherpa: 'sherpa-onnx', ollama: 'Ollama' } as const

export function Models({ computer }: { computer: Computer }) {
  const { id, name } = computer
  const { data: models, error, refetch } = useQuery(modelsQuery(id))
  const { data: probe } = useQuery(probeQuery(computer))
  const [installing, setInstalling] = useState(false)
  const chosen = useOpen<{ model: Model; action: 'map' | 'remove' }>()
  const standing = standingFor(computer, 'inference')
  useRefreshWhenInstalled(id)
  const free = probe?.disk_free_bytes
  return (
    <>
      <Reason standing={standing} />
      {standing.ready && <Engines computer={computer} />}
      <Section
        title="Local models"
        about={`Available as local/… in every API at no cost, for everyone with the “Local models” permission on ${name}.${
          free === null || free === undefined ? '' : ` ${size(free)} of disk space available.`
        }`}
        action={
          standing.ready && (
            <Button look="primary" icon="plus" onClick={() => setInstalling(true)}>
              Install model
            </Button>
          )
        }
      >
        <Installs id={id} ready={standing.ready} />
        {error && !models ? (
          <Failure what="The models" error={error} again={refetch} />
        ) : !models ? (
          <Waiting what="the models" />
        ) : models.length === 0 ? (
          <Empty title="No models yet">
            Install a GGUF file from a URL or the drive, or a model from the Ollama library if Ollama is running.
          </Empty>
        ) : (
          <Rows label="Local models">
            {models.map((model) => (
              <ModelRow
                key={model.id}
                model={model}
                ready={standing.ready}
                onAction={(action) => chosen.show({ model, action })}
                onUnload={async () => {
                  await uk.computers.local_inference({ id, action: 'unload', model: model.name })
                  await refreshModels(id)
                }}
              />
            ))}
          </Rows>
        )}
      </Section>
      <InstallDialog computerId={id} free={free ?? null} open={installing} onOpen={setInstalling} />
      {chosen.on?.action === 'map' && (
        <MapDialog key={chosen.on.model.id} model={chosen.on.model} open={chosen.open} onOpen={chosen.onOpen} />
      )}
      {chosen.on?.action === 'remove' && (
        <Confirm
          open={chosen.open}
          onOpen={chosen.onOpen}
          title={`Remove model ${chosen.on.model.name}?`}
          verb="Remove model"
          run={async () => {
            await uk.computers.remove_local_model({ id, local_model_id: chosen.on!.model.id })
            await refreshModels(id)
          }}
        >
          This deletes its file ({size(chosen.on.model.size_bytes)}) on {name}. Calls to it use another provider or
          fail.
        </Confirm>
      )}
    </>
  )
}

function useRefreshWhenInstalled(id: string): void {
  const { data: installs } = useQuery(installsQuery(id))
  const going = installs?.filter(isGoing).length ?? 0
  const before = useRef(going)
  useEffect(() => {
    if (going < before.current) void refreshModels(id)
    before.current = going
  }, [going, id])
}

function ModelRow({
  model,
  ready,
  onAction,
  onUnload,
}: {
  model: Model
  ready: boolean
  onAction: (action: 'map' | 'remove') => void
  onUnload: () => Promise<void>
}) {
  const { name, engine, size_bytes, quantization, context_length, status, mapping, loaded } = model
  const facts = [
    engines[engine],
    size(size_bytes),
    quantization,
    context_length !== null && `${context_length.toLocaleString('en')} token context`,
  ].filter(Boolean)
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-mono text-sm font-medium break-all">local/{name}</p>
        <p className="text-[0.8125rem] break-words text-quiet">{facts.join(' · ')}</p>
        {mapping !== null && (
          <p className="text-[0.8125rem] break-words text-quiet">
            used for <span className="font-mono">{mapping}</span>
          </p>
        )}
      </div>
      {loaded && <Tag tone="good">loaded</Tag>}
      {status !== 'ready' && <Tag tone={status === 'broken' ? 'bad' : 'ai'}>{status}</Tag>}
      {ready && (
        <Actions
          label={`More actions for ${name}`}
          actions={[
            { label: 'Map to model …', run: () => onAction('map') },
            ...(loaded ? [{ label: 'Unload', run: () => void onUnload() }] : []),
            { label: 'Remove', run: () => onAction('remove'), danger: true },
          ]}
        />
      )}
    </li>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Preset, type Provider, type ProviderTest, uk } from '../../shared/api.ts'
import { PresetField } from '../../shared/providers/preset-field.tsx'
import { presetsQuery, refreshRouting } from '../../shared/providers/queries.ts'
import { useAccount } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { UnsavedWords } from '../../ui/dialogs/unsaved.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Failure, Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { plural } from '../../ui/text/format.ts'

const FOUND: Partial<Record<Provider['source'], string>> = {
  discovered: 'found on this machine',
  server: 'runs on this server',
  computer: 'runs on your computer',
  instance: 'provided by this instance',
  environment: 'provided by this instance',
  workspace: 'from a workspace',
  account: 'with your key',
}

/** Lists working providers and adds one. The key is tested at once, and nothing is kept if the test fails. */
export function FirstProvider({ serving }: { serving: readonly Provider[] }) {
  const [more, setMore] = useState(false)
  return (
    <>
      {serving.length > 0 && (
        <ul aria-label="Available providers" className="mb-3 space-y-1 text-sm">
          {serving.map(({ slug, name, source, latency_ms }) => (
            <li key={slug} className="flex items-center gap-2">
              <Icon name="check" className="size-4 text-moss" />
              <span>
                <span className="font-medium">{name}</span>{' '}
                <span className="text-quiet">
                  {FOUND[source]}
                  {latency_ms !== null && `, responds in ${latency_ms} ms`}
                </span>
              </span>
            </li>
          ))}
        </ul>
      )}
      {serving.length === 0 || more ? (
        // A form in use isn't replaced when another provider becomes available.
        <div onChangeCapture={() => setMore(true)}>
          <Add />
        </div>
      ) : (
        <Button onClick={() => setMore(true)} icon="plus">
          Add another provider
        </Button>
      )}
    </>
  )
}

function useNewProvider(presets: readonly Preset[], forAll: boolean) {
  /** Null: the first preset. Empty: a custom provider. */
  const [slug, setSlug] = useState<string | null>(null)
  const [key, setKey] = useState('')
  const [address, setAddress] = useState<string | null>(null)
  const [tested, setTested] = useState<{ name: string; result: ProviderTest } | null>(null)
  const preset = slug === null ? (presets[0] ?? null) : (presets.find((one) => one.slug === slug) ?? null)
  const isCustom = slug === ''
  const hasAddress = isCustom || (preset !== null && (preset.local || preset.base_url === null))
  const adding = useSend(
    async () => {
      setTested(null)
      const provider = await uk.ai_gateway.create({
        ...(preset === null ? customAt(address ?? '') : { preset: preset.slug }),
        api_key: key.trim() || null,
        ...(hasAddress && address?.trim() && { base_url: address.trim() }),
        ...(forAll && { instance: true }),
        test: false,
      })
      const result = await uk.ai_gateway.test({ id: provider.id })
      // A provider that failed the test would block the next try under the same name.
      if (!result.ok) await uk.ai_gateway.delete({ id: provider.id })
      return { name: provider.name, result }
    },
    async (outcome) => {
      setTested(outcome)
      if (outcome.result.ok) setKey('')
      await refreshRouting()
    },
  )
  const choose = (next: Preset | null): void => {
    setSlug(next?.slug ?? '')
    setAddress(null)
    setTested(null)
  }
  return { preset, isCustom, choose, hasAddress, address, setAddress, key, setKey, adding, tested }
}

function Add() {
  const { administrator } = useAccount()
  const { data: presets = [], error: failure, refetch } = useQuery(presetsQuery)
  const [forAll, setForAll] = useState(administrator)
  const { preset, isCustom, choose, hasAddress, address, setAddress, key, setKey, adding, tested } = useNewProvider(
    presets,
    forAll,
  )
  if (failure && presets.length === 0) return <Failure what="The list of providers" error={failure} again={refetch} />
  return (
    <form
      ref={adding.form}
      noValidate
      className="max-w-md space-y-3"
      onSubmit={(event) => {
        event.preventDefault()
        if (preset || isCustom) void adding.send(undefined)
      }}
    >
      <PresetField presets={presets} value={preset?.slug ?? ''} onPreset={choose} />
      {hasAddress && (
        <TextField
          label="Base URL"
          mono
          type="url"
          spellCheck={false}
          value={address ?? preset?.base_url ?? ''}
          onValue={setAddress}
          error={adding.at('base_url')}
        />
      )}
      {preset?.needs_key !== false && (
        <TextField
          label="API key"
          type="password"
          mono
          autoComplete="off"
          data-1p-ignore
          spellCheck={false}
          optional={preset?.needs_key !== true}
          hint="Stored encrypted and sent only to this provider. It can’t be shown again."
          value={key}
          onValue={setKey}
          error={adding.at('api_key')}
        />
      )}
      {administrator && (
        <CheckField
          label="Available to everyone on this instance"
          hint="Other users pay for calls with credits you grant."
          checked={forAll}
          onChecked={setForAll}
        />
      )}
      <Refused>{adding.rest(...(hasAddress ? ['base_url'] : []), 'api_key')}</Refused>
      <Button type="submit" look="primary" pending={adding.pending}>
        Connect provider
      </Button>
      <UnsavedWords box={adding.form} />
      <TestResult tested={tested} />
    </form>
  )
}

function TestResult({ tested }: { tested: { name: string; result: ProviderTest } | null }) {
  return (
    <p role="status" className="text-sm empty:hidden">
      {tested?.result.ok && (
        <span className="text-moss">
          {tested.name} responds in {tested.result.latency_ms} ms
          {tested.result.models_count !== null && `, with ${plural(tested.result.models_count, 'model')}`}.
        </span>
      )}
      {tested && !tested.result.ok && (
        <span className="text-seal">
          {tested.name} didn’t respond: {tested.result.error ?? 'no error message.'} Nothing was saved. Try again.
        </span>
      )}
    </p>
  )
}

/** A custom provider, named after its host. Most use the OpenAI chat completions format. */
function customAt(address: string) {
  const host = URL.parse(address.trim())?.hostname ?? 'provider'
  const slug = host
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 32)
  return { name: host, slug: slug || 'provider', shape: 'openai-chat' as const, base_url: address.trim() }
}

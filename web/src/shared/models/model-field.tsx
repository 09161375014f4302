import { Autocomplete } from '@base-ui/react/autocomplete'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { sayError } from '../../ui/calls/errors.ts'
import { Field } from '../../ui/field.tsx'
import { modelsQuery } from './queries.ts'
import { type Suggestion, suggestionsFor } from './suggestions.ts'

/** Accepts any model name, with suffixes; suggests available models. */
export function ModelField({
  value,
  onValue,
  error,
}: {
  value: string
  onValue: (value: string) => void
  error: string | null
}) {
  const words = useDeferredValue(value.trim())
  const { data = [], failureReason, refetch } = useQuery({ ...modelsQuery(words), placeholderData: keepPreviousData })
  return (
    <Autocomplete.Root
      items={suggestionsFor(data)}
      value={value}
      onValueChange={onValue}
      itemToStringValue={({ name }: Suggestion) => name}
      filter={null}
      openOnInputClick
    >
      <Field
        label="Model"
        error={error}
        hint={
          failureReason && (
            <span role="alert">
              Suggestions can’t be loaded. {sayError(failureReason, true)}{' '}
              <button type="button" className="link" onClick={() => void refetch()}>
                Try again
              </button>
            </span>
          )
        }
      >
        {(control) => (
          <Autocomplete.Input
            {...control}
            className="field font-mono text-sm"
            placeholder="provider/model or name"
            spellCheck={false}
          />
        )}
      </Field>
      <Autocomplete.Portal>
        <Autocomplete.Positioner sideOffset={4} className="z-30 outline-none">
          <Autocomplete.Popup className="w-(--anchor-width) border border-keyline bg-sheet shadow-[0_12px_32px_-12px_rgb(8_14_22/.4)]">
            <Autocomplete.Empty className="px-3 py-2.5 text-sm text-quiet empty:hidden">
              {words && !failureReason ? 'No available model matches this name.' : null}
            </Autocomplete.Empty>
            <Autocomplete.List className="max-h-[min(20rem,var(--available-height))] overflow-y-auto overscroll-contain">
              {(item: Suggestion) => (
                <Autocomplete.Item
                  key={item.name}
                  value={item}
                  className="flex cursor-default flex-wrap items-baseline gap-x-3 px-3 py-1.5 outline-none select-none data-highlighted:bg-ai-wash"
                >
                  <span className="font-mono text-sm break-all">{item.name}</span>
                  <span className="text-[0.8125rem] text-quiet">{item.about}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  )
}

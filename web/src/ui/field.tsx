import { type ComponentProps, type ReactNode, useId } from 'react'

interface Props {
  label: ReactNode
  hint?: ReactNode
  error?: string | null | undefined
  optional?: boolean
  className?: string
  children: (control: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': true | undefined
    className: string
  }) => ReactNode
}

export function Field({ label, hint, error, optional, className = '', children }: Props) {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className={`min-w-0 ${className}`}>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
        {optional && <span className="font-normal text-quiet"> (optional)</span>}
      </label>
      {children({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': error ? true : undefined,
        className: 'field',
      })}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-[0.8125rem] leading-snug text-quiet">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="mt-1 text-[0.8125rem] leading-snug font-medium text-seal">
          {error}
        </p>
      )}
    </div>
  )
}

type Rest<T extends 'input' | 'select'> = Omit<Props, 'children'> & Omit<ComponentProps<T>, 'className' | 'onChange'>

export interface TextFieldProps extends Rest<'input'> {
  value: string
  onValue: (value: string) => void
  mono?: boolean
}

export function TextField({ label, hint, error, optional, className, onValue, mono, ...rest }: TextFieldProps) {
  return (
    <Field {...{ label, hint, error }} {...(optional && { optional })} {...(className && { className })}>
      {(control) => (
        <input
          type="text"
          {...rest}
          {...control}
          className={`field ${mono ? 'font-mono text-sm' : ''}`}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  )
}

export interface SelectFieldProps<T extends string> extends Rest<'select'> {
  value: T
  onValue: (value: T) => void
  options: readonly (readonly [value: T, label: string])[]
}

export type ChoiceProps = Pick<SelectFieldProps<string>, 'value' | 'onValue' | 'error'>

export function SelectField<T extends string>({
  label,
  hint,
  error,
  optional,
  className,
  onValue,
  options,
  ...rest
}: SelectFieldProps<T>) {
  return (
    <Field {...{ label, hint, error }} {...(optional && { optional })} {...(className && { className })}>
      {(control) => (
        <select {...rest} {...control} onChange={(event) => onValue(event.target.value as T)}>
          {options.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function CheckField({
  label,
  hint,
  checked,
  onChecked,
  ...rest
}: {
  label: ReactNode
  hint?: ReactNode
  checked: boolean
  onChecked: (checked: boolean) => void
} & Omit<ComponentProps<'input'>, 'onChange'>) {
  const id = useId()
  return (
    <div className="flex items-start gap-2.5">
      <input
        type="checkbox"
        {...rest}
        id={id}
        checked={checked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChecked(event.target.checked)}
        className="mt-1 size-4 shrink-0"
      />
      <div>
        <label htmlFor={id} className="text-sm">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} className="text-[0.8125rem] leading-snug text-quiet">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

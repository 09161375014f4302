import { billings } from '../shared/providers/words.ts'
import { Copy } from '../ui/copy.tsx'
import { perMillion, plural, usd } from '../ui/text/format.ts'
import { Rows, Tag } from '../ui/page.tsx'
import { Words } from '../ui/text/words.tsx'
import type { Route } from './draft.ts'

type Candidate = Route['candidates'][number]

/** The candidate endpoints in order, and the skipped ones, each with its reason. */
export function RouteList({ route: { candidates, excluded, seed } }: { route: Route }) {
  return (
    <>
      <p className="mb-3 text-sm" role="status">
        {candidates.length === 0 ? (
          <span className="text-seal">No provider can serve this request. It would be rejected at no cost.</span>
        ) : (
          <>{plural(candidates.length, 'provider')} would be tried in this order until one responds.</>
        )}
      </p>
      {candidates.length > 0 && (
        <ol
          aria-label="Providers in order"
          className="divide-y divide-line border border-line border-t-keyline bg-sheet"
        >
          {candidates.map((candidate, index) => (
            <CandidateRow key={`${candidate.provider} ${candidate.model}`} candidate={candidate} place={index + 1} />
          ))}
        </ol>
      )}
      {candidates.length > 1 && (
        <p className="mt-2 text-[0.8125rem] text-quiet">
          Providers of equal priority are shuffled by traffic share, based on weight and price. Another seed can change
          the order.
        </p>
      )}
      {excluded.length > 0 && (
        <div className="mt-6">
          <h3 className="mb-2 font-serif text-base">Skipped providers</h3>
          <Rows label="Skipped providers">
            {excluded.map(({ provider, reason }) => (
              <li key={`${provider} ${reason}`} className="px-4 py-2.5 text-sm">
                <code className="font-mono">{provider}</code>
                <span className="block text-[0.8125rem] text-quiet">
                  <Words>{reason}</Words>
                </span>
              </li>
            ))}
          </Rows>
        </div>
      )}
      <div className="mt-6 flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line pt-4">
        <p className="min-w-0 flex-1 basis-56 text-[0.8125rem] text-quiet">
          Send <code className="font-mono text-ink">x-uk-seed: {seed}</code> with a request to get exactly this order.
        </p>
        <Copy text={`x-uk-seed: ${seed}`} label="Copy header" look="quiet" />
      </div>
    </>
  )
}

function CandidateRow({ candidate, place }: { candidate: Candidate; place: number }) {
  const { provider, upstream_model, billing, weight, reason, price, max_cost_usd } = candidate
  const { words, tone, about } = billings[billing]
  const percent = Math.round(weight * 100)
  return (
    <li className="grid grid-cols-[1.75rem_minmax(0,1fr)] gap-x-3 px-4 py-3.5">
      <span aria-hidden="true" className="figures font-serif text-2xl leading-7 text-quiet">
        {place}
      </span>
      <div className="min-w-0">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium">{provider}</span>
          <code className="font-mono text-[0.8125rem] break-all text-quiet">{upstream_model}</code>
          <span title={about}>
            <Tag tone={tone}>{words}</Tag>
          </span>
        </p>
        <p className="mt-0.5 text-[0.8125rem] text-quiet">
          <Words>{reason}</Words>
        </p>
        <dl className="figures mt-2 grid grid-cols-[repeat(auto-fit,minmax(7.5rem,1fr))] gap-x-5 gap-y-2 text-[0.8125rem]">
          <Fact label="Traffic share">
            {percent}&nbsp;%
            <span aria-hidden="true" className="mt-1 block h-1 bg-sunk forced-color-adjust-none">
              <span className="block h-full bg-ai" style={{ width: `${percent}%` }} />
            </span>
          </Fact>
          <Fact label="Price per 1M tokens (input / output)">
            {price ? `${perMillion(price.input)} / ${perMillion(price.output)}` : 'unknown'}
          </Fact>
          <Fact label="Max. cost per response">{max_cost_usd === null ? 'unknown' : usd(max_cost_usd)}</Fact>
        </dl>
      </div>
    </li>
  )
}

const Fact = ({ label, children }: { label: string; children: React.ReactNode }) => (
  <div>
    <dt className="text-quiet">{label}</dt>
    <dd>{children}</dd>
  </div>
)

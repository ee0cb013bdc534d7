import { isComportaError, type Limit, limitKinds, type Param } from 'comporta';
import { z } from 'zod';
import { durationText } from './fields.js';

/** Start of the message for a limit without algorithm; a mistyped name says more, where there is one. */
export const NO_KIND = 'expected one of';

/** The schema of one limit, made from the algorithms' own parameters: a new algorithm needs no line here. */
export const limitSchema: z.ZodType<Limit> = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'expected 1 to 64 characters of A-Z a-z 0-9 _ . -')
      .optional()
      .describe(
        "Part of the stored key, unique in the policy; the algorithm's name when left out. Renaming it starts a fresh count.",
      ),
    ...Object.fromEntries(
      Object.entries(limitKinds).map(([name, { params }]) => [name, settingsSchema(name, params).optional()]),
    ),
  })
  .transform((value, context): Limit => {
    const { id, ...kinds } = value as Readonly<Record<string, unknown>>;
    const given = Object.keys(kinds).filter((name) => kinds[name] !== undefined);
    const [name] = given;
    if (name === undefined || given.length > 1) {
      const known = Object.keys(limitKinds).join(', ');
      const message = name === undefined ? `${NO_KIND} ${known}` : `expected one algorithm, got ${given.join(' and ')}`;
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    }
    return build(name, kinds[name] as Readonly<Record<string, unknown>>, id as string | undefined, context);
  });

function build(
  name: string,
  settings: Readonly<Record<string, unknown>>,
  id: string | undefined,
  context: z.core.ParsePayload,
): Limit {
  try {
    const kind = limitKinds[name];
    if (kind !== undefined) return kind.build(settings, id);
  } catch (error) {
    const path = isComportaError(error) && error.field in settings ? [name, error.field] : [name];
    const message = error instanceof Error ? error.message : String(error);
    context.issues.push({ code: 'custom', message, input: settings, path });
  }
  return z.NEVER;
}

function settingsSchema(name: string, params: Readonly<Record<string, Param>>): z.ZodType {
  const fields = Object.entries(params).map(([field, param]) => {
    const schema = paramSchema(param);
    const optional = param.default === undefined && param.optional !== true ? schema : schema.optional();
    return [field, optional.describe(sentence(param.doc, param.default))] as const;
  });
  return z.strictObject(Object.fromEntries(fields)).describe(`Settings of \`${name}\`.`);
}

function paramSchema(param: Param): z.ZodType {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = param;
  if (param.kind === 'duration') return durationText(min, max);
  if (param.kind === 'choice') return z.enum(param.choices ?? []);
  if (param.kind === 'text') return z.string().min(1);
  if (param.kind === 'flag') return z.boolean();
  return z.int().min(min).max(max);
}

function sentence(doc: string, fallback: Param['default']): string {
  const text = `${doc.charAt(0).toUpperCase()}${doc.slice(1)}.`;
  return fallback === undefined ? text : `${text} \`${fallback}\` when left out.`;
}

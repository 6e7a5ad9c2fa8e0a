// Reads definitions from standard input, one JSON object { id, definition } a line, and answers with what asl-validator
// and AWS's language service find in each: { id, peer, problems } a line.

const { readFileSync } = require("node:fs");
const aslValidator = require("asl-validator");
const { getLanguageService, TextDocument } = require("amazon-states-language-service");

const validate = aslValidator.default ?? aslValidator;
const service = getLanguageService({});

function ofAslValidator(definition) {
  const { isValid, errors } = validate(definition);
  return isValid ? [] : errors.map((error) => `${error["Error code"]}: ${error.Message}`);
}

async function ofLanguageService(definition) {
  const document = TextDocument.create("x.asl.json", "json", 1, JSON.stringify(definition));
  const found = await service.doValidation(document, service.parseJSONDocument(document));
  const errors = found.filter(({ severity }) => severity === undefined || severity === 1);
  return errors.map(({ message }) => message);
}

async function answer(id, peer, check) {
  let problems;
  try {
    problems = await check();
  } catch (error) {
    problems = [`crashed: ${String(error.message).split("\n")[0]}`];
  }
  console.log(JSON.stringify({ id, peer, problems }));
}

async function main() {
  for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const { id, definition } = JSON.parse(line);
    await answer(id, "asl-validator", () => ofAslValidator(definition));
    await answer(id, "language service", () => ofLanguageService(definition));
  }
}

main();

"""What came out: tables, figures and pages next to what the paper says, and BBOB runs for COCO."""
